// Rules for values that an operator does not accept: NaN, infinity, numbers that are not probabilities.

#include <limits>

#include "diagnose/causes/case.h"
#include "diagnose/causes/rule.h"

namespace cudadiag::causes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool probabilities(const Case& failed, Facts& facts) {
  add_bad_value(failed, facts, kInfinity);
  return true;
}

bool has_spoilt_probabilities(const Case& failed, Facts& facts) {
  add_bad_value(failed, facts, kInfinity);
  return facts.find("argument") != nullptr;
}

bool zero_to_one(const Case& failed, Facts& facts) {
  add_bad_value(failed, facts, 1);
  return true;
}

// torch._assert_async prints its message in place of a condition.
bool own_message(const Case& failed, Facts& facts) {
  if (!is_asked(failed) || failed.assertion().empty() || failed.assertion().starts_with("input[0] != ")) return false;
  facts.add("message", failed.assertion());
  return true;
}

const std::vector<std::string_view> kProbabilities = {"probability tensor contains either `inf`, `nan` or element < 0",
                                                      "!(val < zero)",
                                                      "!at::_isnan(val)",
                                                      "!at::_isinf(val)",
                                                      "!_isinf(val)",
                                                      "val >= zero",
                                                      "THCNumerics<T>::ge(val, zero)"};

const std::vector<std::string_view> kSums = {"invalid multinomial distribution (sum of probabilities <= 0)",
                                             "sum > accZero", "cumdist[size - 1] > static_cast<scalar_t>(0)",
                                             "THCNumerics<T>::gt(sum, zero)"};

}  // namespace

const std::vector<Rule>& numerics_rules() {
  static const std::vector<Rule> rules = {
      {.id = "bad-probabilities",
       .assertions = kProbabilities,
       .when = probabilities,
       .texts = {"the probabilities given to multinomial are invalid: {argument} has {values}",
                 "the probabilities given to multinomial contain NaN, infinity or a negative number"},
       .fix = {"find the first NaN with torch.isfinite(logits).all() after each step; typical causes are overflow in "
               "float16 (use bfloat16 or float32), a temperature of 0, and fully masked rows",
               "apply softmax to logits to get probabilities; do_sample=False avoids sampling"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.multinomial.html"},
      // This rule must precede "zero-probabilities": a NaN makes the sum NaN too, so the assertion on the sum may fail
      // first.
      {.id = "bad-probabilities",
       .assertions = kSums,
       .when = has_spoilt_probabilities,
       .texts = {"the probabilities given to multinomial are invalid: {argument} has {values}"},
       .fix = {"find the first NaN with torch.isfinite(logits).all() after each step; typical causes are overflow in "
               "float16 (use bfloat16 or float32), a temperature of 0, and fully masked rows",
               "apply softmax to logits to get probabilities; do_sample=False avoids sampling"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.multinomial.html"},
      {.id = "zero-probabilities",
       .assertions = kSums,
       .texts = {"a row of the probabilities given to multinomial sums to zero, or contains NaN"},
       .fix = {"check probs.sum(-1) before the call, for fully masked rows, underflow and NaN"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.multinomial.html"},
      {.id = "bce-input-outside-0-1",
       .assertions = {"input_val >= zero && input_val <= one", "input >= 0. && input <= 1.",
                      "*input >= 0. && *input <= 1."},
       .when = zero_to_one,
       .texts = {"binary_cross_entropy takes probabilities from 0 to 1, but {argument} has {values}",
                 "an input of binary_cross_entropy is NaN or not between 0 and 1"},
       .fix = {"use BCEWithLogitsLoss on logits, or a sigmoid before BCELoss",
               "if there is a sigmoid, look for NaN: torch.isfinite(x).all()"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html"},
      {.id = "bce-target-outside-0-1",
       .assertions = {"target_val >= zero && target_val <= one"},
       .when = zero_to_one,
       .texts = {"binary_cross_entropy takes targets from 0 to 1, but {argument} has {values}",
                 "a target of binary_cross_entropy is NaN or not between 0 and 1"},
       .fix = {"use targets from 0 to 1: divide masks of 0 and 255 by 255, and for classes use one_hot or "
               "CrossEntropyLoss"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.nn.BCELoss.html"},
      {.id = "bce-outside-0-1",
       .codes = {710},
       .kernels = {"binary_cross_entropy_out_cuda"},
       .texts = {"an input or a target of binary_cross_entropy is NaN or not between 0 and 1"},
       .fix = {"use BCEWithLogitsLoss on logits, or a sigmoid before BCELoss",
               "check the targets: masks of 0 and 255 must be divided by 255"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.nn.BCELoss.html"},
      {.id = "bernoulli-outside-0-1",
       .assertions = {"0 <= p1 && p1 <= 1", "0 <= p2 && p2 <= 1", "0 <= p3 && p3 <= 1", "0 <= p4 && p4 <= 1"},
       .when = zero_to_one,
       .texts = {"bernoulli takes probabilities from 0 to 1, but {argument} has {values}",
                 "a probability given to bernoulli is NaN or not between 0 and 1"},
       .fix = {"apply a sigmoid or clamp(0, 1) before the call, and look for NaN"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.bernoulli.html"},
      {.id = "poisson-rate-negative",
       .assertions = {"invalid Poisson rate"},
       .texts = {"a rate given to poisson is negative or NaN"},
       .fix = {"clamp the rates to at least 0, and look for NaN"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.poisson.html"},
      {.id = "tensor-assertion",
       .when = own_message,
       .texts = {"a check that the program or its framework ran on the GPU failed: {message}"},
       .fix = {"search the code for this message: it comes from torch._assert_async, torch._check or an assert in "
               "compiled code"}},
  };
  return rules;
}

}  // namespace cudadiag::causes
