#include <doctest/doctest.h>

#include "unit/causes/symptoms_builder.h"

using namespace cudadiag::causes;

namespace {

Symptoms attention(std::uint32_t batches) {
  Symptoms symptoms = refused_launch(9, {1, 8, batches}, {32, 4, 1});
  symptoms.kernel = "fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)";
  symptoms.versions = {{"torch", "2.11.0"}};
  return symptoms;
}

Symptoms pooling(const std::string& version) {
  Symptoms symptoms = gpu_error(700, "void at::native::atomic_adaptive_average_gradinput<float>(float*)");
  symptoms.versions = {{"torch", version}};
  Argument tensor;
  tensor.name = "x";
  tensor.dtype = "float32";
  tensor.shape = {1, 2100, 1024, 1024};
  symptoms.arguments = {tensor};
  return symptoms;
}

}  // namespace

TEST_CASE("attention with 65536 batches is a known bug") {
  CHECK(id_of(attention(65536)) == "known-bug");
  CHECK(text_of(attention(65536)).find("pytorch/issues/142228") != std::string::npos);
  CHECK(id_of(attention(65535)) == "none");
  Symptoms own = attention(65536);
  own.kernel = "scale(float*)";
  CHECK(id_of(own) == "grid-too-large");
}

TEST_CASE("a known bug applies only up to its last version") {
  CHECK(id_of(pooling("2.11.0+cu130")) == "known-bug");
  CHECK(id_of(pooling("1.13.1")) == "known-bug");
  CHECK(id_of(pooling("2.13.0")) == "index-overflow-32");
  CHECK(id_of(pooling("3.0")) == "index-overflow-32");
  CHECK(id_of(pooling("unknown")) == "index-overflow-32");
  Symptoms small = pooling("2.11.0");
  small.arguments[0].shape = {1, 16, 1024, 1024};
  CHECK(id_of(small) == "none");
}
