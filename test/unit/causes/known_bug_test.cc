#include <doctest/doctest.h>

#include "unit/causes/failed_case.h"

using namespace cudadiag::causes;

namespace {

Failed attention(std::uint32_t batches) {
  Failed failed = refused_launch(9, {1, 8, batches}, {32, 4, 1});
  failed.finding.launch->kernel = "fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)";
  failed.report.torch = "2.11.0";
  return failed;
}

Failed pooling(const std::string& version) {
  Failed failed = gpu_error(700, "void at::native::atomic_adaptive_average_gradinput<float>(float*)");
  failed.report.torch = version;
  Argument tensor;
  tensor.name = "x";
  tensor.dtype = "float32";
  tensor.shape = {1, 2100, 1024, 1024};
  failed.finding.arguments = {tensor};
  return failed;
}

}  // namespace

TEST_CASE("attention with 65536 batches is a known bug") {
  CHECK(id_of(attention(65536)) == "known-bug");
  CHECK(text_of(attention(65536)).find("pytorch/issues/142228") != std::string::npos);
  CHECK(id_of(attention(65535)) == "none");
  Failed own = attention(65536);
  own.finding.launch->kernel = "scale(float*)";
  CHECK(id_of(own) == "grid-too-large");
}

TEST_CASE("a known bug applies only up to its last version") {
  CHECK(id_of(pooling("2.11.0+cu130")) == "known-bug");
  CHECK(id_of(pooling("1.13.1")) == "known-bug");
  CHECK(id_of(pooling("2.13.0")) == "index-overflow-32");
  CHECK(id_of(pooling("3.0")) == "index-overflow-32");
  CHECK(id_of(pooling("unknown")) == "index-overflow-32");
  Failed small = pooling("2.11.0");
  small.finding.arguments[0].shape = {1, 16, 1024, 1024};
  CHECK(id_of(small) == "none");
}
