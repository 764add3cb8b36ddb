#include <doctest/doctest.h>

#include "unit/causes/failed_case.h"

using namespace cudadiag;
using namespace cudadiag::causes;

namespace {

constexpr const char* kGather = "ind >=0 && ind < ind_dim_size && \"vectorized gather kernel index out of bounds\"";
constexpr const char* kGatherKernel =
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)";
constexpr const char* kLabel = "t >= 0 && t < n_classes";

Failed embedding() {
  Failed failed = pytorch_assert(kGather, "IndexKernelUtils.cu");
  failed.finding.location.source = "y = self.emb(idx)";
  failed.finding.stack.python = {{"/v/site-packages/torch/nn/functional.py", 0, "embedding", false},
                                 {"/v/site-packages/torch/nn/modules/sparse.py", 0, "Embedding.forward", false},
                                 {"/home/u/train.py", 0, "forward", true}};
  return failed;
}

}  // namespace

TEST_CASE("an embedding with values: the text has the index, its value and the valid range") {
  Failed failed = embedding();
  failed.finding.arguments = {index_argument("indices", 0, 30050, 30000, 3, {0, 77}, 30050),
                              index_argument("idx", 0, 30050, 30000, 3, {0, 77}, 30050)};
  failed.finding.arguments[0].origin = session::NameSource::schema;
  const auto cause = explain(failed);
  REQUIRE(cause);
  CHECK(cause->id == "index-out-of-range");
  CHECK(cause->certain);
  CHECK(cause->text == "idx[0,77] = 30050, but the table has 30000 rows (valid 0..29999)");
  REQUIRE(cause->fix.size() == 2);
  CHECK(cause->fix[1] == "or find the bad ids: assert idx.min() >= 0 and idx.max() < 30000");
  CHECK(cause->proof == std::vector<std::size_t>{1});
}

TEST_CASE("an embedding without values: the cause is certain, the text names no tensor") {
  const auto cause = explain(embedding());
  REQUIRE(cause);
  CHECK(cause->certain);
  CHECK(cause->text ==
        "an index is outside the embedding's table: it is negative, or not less than the number of rows");
  CHECK(cause->fix.size() == 1);
}

TEST_CASE("only frames inside the user's frame name the PyTorch function") {
  Failed failed = embedding();
  failed.finding.stack.python = {{"/home/u/train.py", 0, "forward", true},
                                 {"/v/site-packages/torch/nn/functional.py", 0, "embedding", false}};
  CHECK(text_of(failed) == "an index is outside the dimension that it indexes");
}

TEST_CASE("every index assertion in PyTorch's kernels is recognised") {
  for (const char* condition :
       {kGather, "idx_dim >= 0 && idx_dim < index_size && \"scatter gather kernel index out of bounds\"",
        "-sizes[i] <= index && index < sizes[i] && \"index out of bounds\"", "srcIndex < srcSelectDimSize",
        "dstIndex < dstAddDimSize", "idx < numel && idx >= -numel && \"cuda_take_put_kernel() index out of bounds\"",
        "idx >= 0 && idx < self_dim_size && \"index_copy_(): index out of bounds\"",
        "idx >= -self_dim_size && idx < self_dim_size && \"index out of bounds\"",
        "idx >= -size && idx < size && \"index_select(): index out of bounds\""}) {
    CAPTURE(condition);
    CHECK(id_of(pytorch_assert(condition)) == "index-out-of-range");
  }
}

TEST_CASE("the same condition in the program's own kernel is only a failed assertion") {
  Failed failed = pytorch_assert("srcIndex < srcSelectDimSize");
  failed.finding.device->file = "/home/u/kernels.cu";
  CHECK(id_of(failed) == "failed-assertion");
}

TEST_CASE("without the assertion's text, the kernel's name decides, but only for error 710") {
  CHECK(id_of(gpu_error(710, kGatherKernel)) == "index-out-of-range");
  CHECK(id_of(gpu_error(700, kGatherKernel)) == "none");
  CHECK(id_of(gpu_error(710, "vectorized_gather_kernel(float*)")) == "none");
  CHECK(id_of(gpu_error(710, "void at::native::sampleMultinomialOnce<float>(long*)")) == "none");
}

TEST_CASE("labels") {
  Failed failed = pytorch_assert(kLabel, "Loss.cu");
  CHECK(id_of(failed) == "label-out-of-range");
  CHECK(id_of(pytorch_assert("cur_target >= 0 && cur_target < n_classes", "NLLLoss2d.cu")) == "label-out-of-range");
  CHECK(id_of(pytorch_assert("target_k >= 0 && target_k < dim && \"target index is out of bounds\"")) ==
        "label-out-of-range");
  CHECK(id_of(pytorch_assert("r >= 0", "Loss.cu")) == "failed-assertion");

  failed.finding.arguments = {index_argument("target", 0, 12, 10, 2, {7}, 12)};
  CHECK(text_of(failed) ==
        "target[7] = 12 is not a valid label: the 10 classes are 0 to 9, and the value is not ignore_index");

  SUBCASE("labels that count from one") {
    failed.finding.arguments = {index_argument("target", 1, 10, 10, 6, {3}, 10)};
    CHECK(text_of(failed) == "target contains labels from 1 to 10, but the 10 classes are numbered 0 to 9");
    CHECK(explain(failed)->fix[0] == "count labels from 0: pass target - 1");
  }
  SUBCASE("labels with a 0 do not count from one") {
    failed.finding.arguments = {index_argument("target", 0, 10, 10, 6, {3}, 10)};
    CHECK(text_of(failed) ==
          "target[3] = 10 is not a valid label: the 10 classes are 0 to 9, and the value is not ignore_index");
  }
  // The call was nll_loss(ignore_index=255). Ignored labels are not valid classes, but are not reported as errors
  // either.
  SUBCASE("-100 is a bad label if ignore_index differs") {
    failed.finding.arguments = {index_argument("target", -100, 255, 10, 40, {0}, -100)};
    CHECK(text_of(failed) ==
          "target[0] = -100 is not a valid label: the 10 classes are 0 to 9, and the value is not ignore_index");
  }
}

TEST_CASE("positions past the end of their table") {
  Failed failed = embedding();
  failed.finding.location.source = "x = x + self.position_embeddings(position_ids)";
  const auto cause = explain(failed);
  REQUIRE(cause);
  CHECK(cause->id == "position-past-table");
  CHECK(!cause->certain);
  for (const char* source : {"x = transforms.Compose([crop])(idx)", "h = self.decomposition[idx]"}) {
    failed.finding.location.source = source;
    CHECK(id_of(failed) == "index-out-of-range");
  }
  failed.finding.location.source = "values = torch.take(images, positions)";
  failed.finding.launch->kernel = "void at::native::index_elementwise_kernel<cuda_take_put_kernel<float>>(long)";
  CHECK(id_of(failed) == "index-out-of-range");
  failed.finding.launch->kernel = embedding().finding.launch->kernel;
  failed.finding.location.source = "x = self.position_embeddings(position_ids)";
  failed.finding.arguments = {index_argument("position_ids", 0, 600, 512, 88, {0, 512}, 512)};
  CHECK(text_of(failed).starts_with("position_ids[0,512] = 512, but the table has 512 rows (valid 0..511)"));
}

TEST_CASE("values decide which of two embeddings on a line failed") {
  Failed failed = embedding();
  failed.finding.arguments.clear();
  failed.finding.location.source = "x = self.tokens(ids) + self.position_embedding(steps)";
  CHECK(id_of(failed) == "index-out-of-range");
  failed.finding.arguments = {index_argument("steps", 0, 95, 64, 32, {64}, 64)};
  failed.finding.arguments[0].shape = {96};
  CHECK(id_of(failed) == "position-past-table");
  failed.finding.arguments = {index_argument("ids", 0, 1000, 1000, 1, {0, 7}, 1000)};
  failed.finding.arguments[0].shape = {4, 32};
  CHECK(id_of(failed) == "index-out-of-range");
}

TEST_CASE("indices that a separate kernel checks") {
  Failed failed = gpu_error(710, "void at::native::_assert_async_cuda_kernel<bool>(bool const*, at::native::Msg)");
  CHECK(id_of(failed) == "none");
  failed.finding.arguments = {index_argument("cells", 0, 77, 50, 1, {123}, 77)};
  CHECK(text_of(failed) == "cells[123] = 77, but the dimension that it indexes has 50 entries (valid 0..49)");
  CHECK(explain(failed)->certain);
  failed.finding.launch->kernel = "_assert_async_cuda_kernel(bool*)";
  CHECK(!explain(failed)->certain);
}

TEST_CASE("bags, repeats and groups") {
  Failed failed =
      pytorch_assert("!has_invalid_index && \"Invalid input index in EmbeddingBag: index out of range [0, numRows)\"",
                     "EmbeddingBag.cu");
  CHECK(id_of(failed) == "index-out-of-range");
  CHECK(id_of(pytorch_assert("end >= begin", "EmbeddingBag.cu")) == "bag-offsets-decrease");
  CHECK(id_of(pytorch_assert("result_size == cumsum_ptr[size - 1]", "Repeat.cu")) == "repeat-lengths");
  CHECK(text_of(pytorch_assert("repeat >= 0", "Repeat.cu")) == "a length given to repeat_interleave is negative");
  CHECK(id_of(pytorch_assert("my_repeat >= 0", "Repeat.cu")) == "failed-assertion");
  CHECK(id_of(pytorch_assert("offset <= tensor_ShapeA[0] && \"expected offset to be less than tensor size\\n\"",
                             "GroupMMCommon.cuh")) == "group-offsets");
  CHECK(id_of(pytorch_assert("offset <= tensor_ShapeA[0]", "GroupMMCommon.cuh")) == "failed-assertion");
}

TEST_CASE("the source line shows one_hot") {
  Failed failed = pytorch_assert("idx_dim >= 0 && idx_dim < index_size && \"index out of bounds\"");
  failed.finding.location.source = "F.one_hot(labels, 10)";
  CHECK(text_of(failed).find("one_hot") != std::string::npos);
}

TEST_CASE("assertions in compiled code contain the bound") {
  Failed failed = pytorch_assert("index out of bounds: 0 <= tmp4 < 30522");
  failed.finding.device->file = "/tmp/torchinductor_u/k4/ck46.py";
  CHECK(text_of(failed) == "an index in compiled code is outside its dimension (valid 0..30521)");
  failed.finding.device->message = "index out of bounds: 0 <= tmp4 < 1 + ks0";
  CHECK(text_of(failed) == "an index in compiled code is outside its dimension");
  failed.finding.device->message = "index out of bounds: 0 <= tmp4 < 99999999999999999999999";
  CHECK(text_of(failed) == "an index in compiled code is outside its dimension");
  failed.finding.device->message = "my index out of bounds: 0 <= tmp4 < 7";
  CHECK(id_of(failed) == "failed-assertion");
}

TEST_CASE("indices out of range for a kernel that checks nothing") {
  Failed failed = gpu_error(700);
  failed.finding.arguments = {index_argument("block_table", 0, 900, 512, 4, {3, 1}, 900)};
  const auto cause = explain(failed);
  REQUIRE(cause);
  CHECK(cause->id == "index-argument-out-of-range");
  CHECK(!cause->certain);
  failed.finding.code = 717;  // the index is so large that the address is in a different memory space
  CHECK(id_of(failed) == "index-argument-out-of-range");
  failed.finding.code = 700;
  failed.finding.arguments = {index_argument("block_table", 0, 511, 512, 0, {}, 0)};
  CHECK(id_of(failed) == "none");
}

TEST_CASE("other operators with separate assertions") {
  CHECK(id_of(pytorch_assert("totalElements <= srcSize")) == "masked-scatter-too-short");
  CHECK(id_of(pytorch_assert("maxind >= 0 && maxind < outputImageSize")) == "unpool-index-out-of-range");
  CHECK(id_of(pytorch_assert("end >= begin", "EmbeddingBag.cu")) == "bag-offsets-decrease");
  CHECK(id_of(pytorch_assert("end > begin", "EmbeddingBag.cu")) == "failed-assertion");
}
