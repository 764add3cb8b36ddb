#include <doctest/doctest.h>

#include "unit/causes/failed_case.h"

using namespace cudadiag;
using namespace cudadiag::causes;

namespace {

constexpr const char* kNoProbability = "probability tensor contains either `inf`, `nan` or element < 0";
constexpr const char* kBce = "input_val >= zero && input_val <= one";

Argument floats(const std::string& name, double min, double max, std::uint64_t nan = 0) {
  Argument argument;
  argument.name = name;
  argument.origin = session::NameSource::variable;
  argument.dtype = "float32";
  argument.min = min;
  argument.max = max;
  argument.nan = nan;
  return argument;
}

}  // namespace

TEST_CASE("multinomial") {
  Failed failed = pytorch_assert(kNoProbability, "TensorCompare.cu");
  failed.finding.device->function = "_assert_async_cuda_kernel";
  CHECK(id_of(failed) == "bad-probabilities");
  CHECK(explain(failed)->certain);
  failed.finding.arguments = {floats("probs", 0, 0.5, 7)};
  CHECK(text_of(failed) == "the probabilities given to multinomial are invalid: probs has 7 NaN");
  failed.finding.arguments = {floats("probs", -0.25, 0.5)};
  CHECK(text_of(failed) == "the probabilities given to multinomial are invalid: probs has min -0.25, max 0.5");
  failed.finding.arguments = {floats("probs", 0, 0.5)};
  CHECK(explain(failed)->proof.empty());

  for (const char* condition : {"!(val < zero)", "!at::_isnan(val)", "!_isinf(val)", "val >= zero"}) {
    CHECK(id_of(pytorch_assert(condition, "MultinomialKernel.cu")) == "bad-probabilities");
  }
  CHECK(id_of(pytorch_assert("sum > accZero", "MultinomialKernel.cu")) == "zero-probabilities");
  Failed spoilt = pytorch_assert("sum > accZero", "MultinomialKernel.cu");
  spoilt.finding.arguments = {floats("probs", 0, 0.5, 7)};
  CHECK(text_of(spoilt) == "the probabilities given to multinomial are invalid: probs has 7 NaN");
  failed.finding.device->message = "invalid multinomial distribution (sum of probabilities <= 0)";
  CHECK(id_of(failed) == "zero-probabilities");
  failed.finding.device->file = "/home/u/sampler.cu";
  failed.finding.device->function = "sample";
  failed.finding.device->message = "!(val < zero)";
  CHECK(id_of(failed) == "failed-assertion");
}

TEST_CASE("binary cross entropy") {
  Failed failed = pytorch_assert(kBce, "Loss.cu");
  CHECK(id_of(failed) == "bce-input-outside-0-1");
  failed.finding.arguments = {floats("target", 0, 1), floats("logits", -3.5, 4)};
  CHECK(text_of(failed) == "binary_cross_entropy takes probabilities from 0 to 1, but logits has min -3.5, max 4");
  CHECK(explain(failed)->proof == std::vector<std::size_t>{1});
  failed.finding.arguments = {floats("target", 0, 1), floats("probs", 0, 1)};
  CHECK(text_of(failed) == "an input of binary_cross_entropy is NaN or not between 0 and 1");
  CHECK(id_of(pytorch_assert("target_val >= zero && target_val <= one", "Loss.cu")) == "bce-target-outside-0-1");
  CHECK(id_of(pytorch_assert("input_val >= zero", "Loss.cu")) == "failed-assertion");
}

// The source has no name for the model's output, so the message uses the parameter's name. The weights have a name, but
// any weight is valid.
TEST_CASE("binary cross entropy with weights") {
  Failed failed = pytorch_assert(kBce, "Loss.cu");
  failed.finding.arguments = {floats("self", 0, 0.5, 3), floats("y", 0, 1), floats("weight", 0.5, 20)};
  failed.finding.arguments[0].origin = session::NameSource::schema;
  CHECK(text_of(failed) == "binary_cross_entropy takes probabilities from 0 to 1, but self has 3 NaN");
}

TEST_CASE("other distributions") {
  CHECK(id_of(pytorch_assert("0 <= p4 && p4 <= 1", "DistributionTemplates.h")) == "bernoulli-outside-0-1");
  CHECK(id_of(pytorch_assert("0 <= p5 && p5 <= 1", "DistributionTemplates.h")) == "failed-assertion");
  CHECK(id_of(pytorch_assert("lambda >= 0 && \"invalid Poisson rate, expected rate to be non-negative\"")) ==
        "poisson-rate-negative");
  CHECK(id_of(pytorch_assert("lambda >= 0")) == "failed-assertion");
}

TEST_CASE("the cause quotes the message of torch._assert_async") {
  Failed failed = pytorch_assert("seqlen must fit the cache", "TensorCompare.cu");
  failed.finding.device->function = "_assert_async_cuda_kernel";
  CHECK(id_of(failed) == "tensor-assertion");
  CHECK(text_of(failed).ends_with("seqlen must fit the cache"));
  failed.finding.device->function = "some_kernel";
  CHECK(id_of(failed) == "failed-assertion");
}

// Without a rerun, nothing is known of the device. The kernel's parameter is the message.
TEST_CASE("the message that a launch of torch._assert_async carries") {
  Failed failed = gpu_error(710, "void at::native::_assert_async_cuda_kernel<bool>(bool const*, at::native::Msg)");
  failed.finding.device.reset();
  CHECK(id_of(failed) == "none");
  failed.launch_message = "probability tensor contains either `inf`, `nan` or element < 0";
  CHECK(id_of(failed) == "bad-probabilities");
  // The last one is also the text of an assertion in PyTorch.
  for (const char* own : {"seqlen must fit the cache", "repeat >= 0"}) {
    failed.launch_message = own;
    CHECK(id_of(failed) == "tensor-assertion");
    CHECK(text_of(failed).ends_with(own));
  }
}

TEST_CASE("an assertion of binary_cross_entropy whose text is unknown") {
  Failed failed = gpu_error(710,
                            "void at::native::vectorized_elementwise_kernel<4, "
                            "at::native::binary_cross_entropy_out_cuda(at::Tensor const&)::{lambda()#1}>(int)");
  failed.finding.device.reset();
  CHECK(id_of(failed) == "bce-outside-0-1");
}
