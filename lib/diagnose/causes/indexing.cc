// Rules for indices and labels out of range. The assertions come from the CUDA kernels of PyTorch up to 2.11, including
// older ones in THC and THCUNN.

#include <algorithm>
#include <cctype>

#include "diagnose/causes/case.h"
#include "diagnose/causes/rule.h"

namespace cudadiag::causes {
namespace {

const std::vector<std::string_view> kLabelAssertions = {"t >= 0 && t < n_classes",
                                                        "cur_target >= 0 && cur_target < n_classes", "t < n_classes",
                                                        "target index is out of bounds"};
const std::vector<std::string_view> kLabelKernels = {
    "nll_loss_forward",        "nll_loss_backward",        "nll_loss2d_forward", "nll_loss2d_backward",
    "MultiMarginLoss_forward", "MultiMarginLoss_backward", "ClassNLLCriterion"};
const std::vector<std::string_view> kIndexAssertions = {
    "index out of bounds",          // gather, scatter, take, put, index_fill_, index_copy_, index_select, x[index]
    "srcIndex < srcSelectDimSize",  // index_select, embedding
    "dstIndex < dstAddDimSize",     // index_add_
    "Invalid input index in EmbeddingBag",
    "indexValue >= 0 && indexValue < src.sizes[dim]",
    "index >= -sizes[i] && index < sizes[i]"};
const std::vector<std::string_view> kIndexKernels = {
    "vectorized_gather_kernel", "indexSelectSmallIndex", "indexSelectLargeIndex",
    "indexFuncSmallIndex",      "indexFuncLargeIndex",   "_scatter_gather_elementwise_kernel",
    "index_elementwise_kernel", "index_copy_kernel",     "index_fill_kernel"};

constexpr std::string_view kIndexLink = "https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html";

bool label(const Case& failed, Facts& facts) {
  add_bad_label(failed, facts);
  return true;
}

bool labels_from_one(const Case& failed, Facts& facts) {
  return add_bad_label(failed, facts) && facts.find("from_one") != nullptr;
}

bool any_index(const Case& failed, Facts& facts) {
  add_bad_index(failed, facts);
  return true;
}

// Returns true if the text contains "position" at the start of a word, or a usual abbreviation of it. "composition"
// does not count.
bool names_positions(std::string_view text) {
  for (auto at = text.find("position"); at != text.npos; at = text.find("position", at + 1)) {
    if (at == 0 || std::islower(static_cast<unsigned char>(text[at - 1])) == 0) return true;
  }
  return has_any(text, {"pos_emb", "pos_ids", "pos_id]", "wpe("});
}

// Returns true if the values may be 0, 1, 2 … along the last dimension, as positions are.
bool counts_up(const Argument& argument) {
  return argument.min && argument.max && !argument.shape.empty() && real(*argument.min) == 0 &&
         real(*argument.max) + 1 == static_cast<double>(argument.shape.back());
}

// Returns true if the line adds the results of calls, as in the sum of a token embedding and a position embedding.
bool adds_calls(std::string_view source) {
  return source.find('+') != source.npos && std::ranges::count(source, '(') > 1;
}

// A line may look up both tokens and positions. The values show which of the two look-ups failed. Positions in a
// flattened tensor, as of torch.take, belong to no table of positions.
bool positions(const Case& failed, Facts& facts) {
  if (failed.launch().kernel.find("take_put") != std::string::npos) return false;
  const bool known = add_bad_index(failed, facts);
  if (known && names_positions(*facts.find("argument"))) return true;
  if (!names_positions(failed.source())) return false;
  return !adds_calls(failed.source()) || (known && counts_up(failed.finding.arguments[facts.proof.back()]));
}

bool embedding(const Case& failed, Facts& facts) {
  const std::string_view function = torch_function(failed);
  if (function != "embedding" && function != "embedding_bag") return false;
  return any_index(failed, facts);
}

bool one_hot(const Case& failed, Facts& facts) {
  if (!has_any(failed.source(), {"one_hot("})) return false;
  return any_index(failed, facts);
}

// Code from Inductor asserts that indices are in range: "index out of bounds: 0 <= tmp4 < 30522".
bool compiled_index(const Case& failed, Facts& facts) {
  constexpr std::string_view kStart = "index out of bounds: 0 <= ", kLess = " < ";
  std::string_view text = failed.assertion();
  if (!text.starts_with(kStart)) return false;
  if (add_bad_index(failed, facts) && facts.find("bound") != nullptr) return true;
  const std::size_t less = text.rfind(kLess);
  if (less == text.npos) return true;
  text.remove_prefix(less + kLess.size());
  const bool number = !text.empty() && text.size() < 19 && text[0] != '0' &&
                      std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (number) facts.add("last", std::to_string(std::stoll(std::string(text)) - 1));
  return true;
}

// index_put_ with accumulate=True checks its indices in the kernel of torch._assert_async, which prints no message.
bool checked_apart(const Case& failed, Facts& facts) {
  return failed.assertion().empty() && has_any(failed.kernel(), {"at::native::_assert_async_cuda_kernel"}) &&
         add_bad_index(failed, facts) && facts.find("value") != nullptr && facts.find("bound") != nullptr;
}

// No assertion failed, so we only suspect the index that is out of range.
bool unchecked_index(const Case& failed, Facts& facts) {
  return failed.asynchronous() && failed.assertion().empty() && add_bad_index(failed, facts) &&
         facts.find("value") != nullptr && facts.find("bound") != nullptr;
}

}  // namespace

const std::vector<Rule>& indexing_rules() {
  static const std::vector<Rule> rules = {
      {.id = "label-out-of-range",
       .assertions = kLabelAssertions,
       .kernels = kLabelKernels,
       .when = labels_from_one,
       .texts = {"{argument} contains {from_one}, but the {bound} classes are numbered 0 to {last}"},
       .fix = {"count labels from 0: pass {argument} - 1", "or give the model one more class"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html"},
      {.id = "label-out-of-range",
       .assertions = kLabelAssertions,
       .kernels = kLabelKernels,
       .when = label,
       .texts = {"{argument}{at} = {value} is not a valid label: the {bound} classes are 0 to {last}, and the value is "
                 "not ignore_index",
                 "a label is not one of the classes: C classes are numbered 0 to C-1, and only ignore_index (-100 by "
                 "default) may be outside that range"},
       .fix = {"compare the loss's target.min() and target.max() with the model's number of classes; labels that count "
               "from 1 need target - 1, padding needs ignore_index"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html"},
      {.id = "position-past-table",
       .sure = Sure::often,
       .assertions = kIndexAssertions,
       .kernels = kIndexKernels,
       .when = positions,
       .texts = {"{argument}{at} = {value}, but the table has {bound} rows (valid 0..{last}), often because a sequence "
                 "is longer than the model's position table",
                 "an index is outside its table, often because a sequence is longer than the model's position table"},
       .fix = {"truncate sequences to max_position_embeddings (the tokenizer's truncation=True, max_length=…), or "
               "enlarge the table",
               "count the padding offset as part of the length: RoBERTa's positions begin at padding_idx + 1"},
       .link = kIndexLink},
      {.id = "index-out-of-range",
       .assertions = kIndexAssertions,
       .kernels = kIndexKernels,
       .when = embedding,
       .texts = {"{argument}{at} = {value}, but the table has {bound} rows (valid 0..{last})",
                 "an index is outside the embedding's table: it is negative, or not less than the number of rows"},
       .fix = {"resize the embedding to len(tokenizer) (model.resize_token_embeddings)",
               "or find the bad ids: assert {argument}.min() >= 0 and {argument}.max() < {bound}"},
       .link = kIndexLink},
      {.id = "index-out-of-range",
       .assertions = kIndexAssertions,
       .kernels = kIndexKernels,
       .when = one_hot,
       .texts = {"{argument}{at} = {value}, but one_hot encodes {bound} classes (valid 0..{last})",
                 "a class index is negative, or not less than the num_classes given to one_hot"},
       .fix = {"pass one_hot a num_classes of at least the largest index + 1, and no padding values such as -1 or 255"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.one_hot.html"},
      {.id = "index-out-of-range",
       .when = compiled_index,
       .texts = {"{argument}{at} = {value}, but the dimension that it indexes has {bound} entries (valid 0..{last})",
                 "an index in compiled code is outside its dimension[ (valid 0..{last})]"},
       .fix = {"check min() and max() of the index tensors at this line against the dimension that they index"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.gather.html"},
      {.id = "index-out-of-range",
       .assertions = kIndexAssertions,
       .kernels = kIndexKernels,
       .when = any_index,
       .texts = {"{argument}{at} = {value}, but the dimension that it indexes has {bound} entries (valid 0..{last})",
                 "an index is outside the dimension that it indexes"},
       .fix = {"check the index tensors before this line",
               "assert {argument}.min() >= 0 and {argument}.max() < {bound}",
               "run this line with its tensors on the CPU (.cpu()): it then raises an IndexError with the value"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.gather.html"},
      {.id = "index-out-of-range",
       .codes = {710},
       .when = checked_apart,
       .texts = {"{argument}{at} = {value}, but the dimension that it indexes has {bound} entries (valid 0..{last})"},
       .fix = {"assert {argument}.min() >= 0 and {argument}.max() < {bound}"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.index_put_.html"},
      {.id = "masked-scatter-too-short",
       .assertions = {"totalElements <= srcSize"},
       .texts = {"the mask selects more elements than the source of masked_scatter has"},
       .fix = {"compare mask.sum() with source.numel(): in multimodal models, these are the numbers of placeholder "
               "tokens and of image or audio features"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.masked_scatter_.html"},
      {.id = "unpool-index-out-of-range",
       .assertions = {"maxind >= 0 && maxind < outputImageSize", "index >= 0 && index < outputImageSize"},
       .kernels = {"max_unpooling2d_forward_kernel", "max_unpooling3d_forward_kernel"},
       .texts = {"an index given to max_unpool is outside the output plane"},
       .fix = {"pass the indices from the matching max_pool call, and the size of that call's input as output_size"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxUnpool2d.html"},
      {.id = "bag-offsets-decrease",
       .assertions = {"end >= begin"},
       .texts = {"the offsets of an embedding bag decrease"},
       .fix = {"offsets must hold the start of each bag in ascending order, beginning with 0"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.nn.EmbeddingBag.html"},
      {.id = "repeat-lengths",
       .assertions = {"result_size == cumsum_ptr[size - 1]"},
       .texts = {"the output_size given to repeat_interleave is not the sum of its repeats"},
       .fix = {"omit output_size, or compare it with repeats.sum() before the call"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html"},
      {.id = "repeat-lengths",
       .assertions = {"repeat >= 0"},
       .texts = {"a length given to repeat_interleave is negative"},
       .fix =
           {"check repeats.min() before the call; if the repeats are differences of offsets, the offsets must ascend"},
       .link = "https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html"},
      {.id = "group-offsets",
       .assertions = {"expected offset to be less than tensor size",
                      "expected gemm dimension to be greater or equal 0"},
       .texts = {"the offsets of a grouped matrix product do not fit its operands: an offset is past the last row, or "
                 "the offsets decrease"},
       .fix = {"offs must hold the groups' end offsets in ascending order, none past the operand's size; for "
               "mixture-of-experts layers, these are the cumulative token counts without dropped tokens"},
       .link = "https://docs.pytorch.org/docs/main/generated/torch.nn.functional.grouped_mm.html"},
      {.id = "index-argument-out-of-range",
       .sure = Sure::often,
       .codes = {700, 710, 717, 719},
       .when = unchecked_index,
       .texts = {"{argument}{at} = {value}, but the dimension that it indexes has {bound} entries (valid 0..{last}); "
                 "this kernel does not check indices, so such an index is often the cause"},
       .fix = {"assert {argument}.min() >= 0 and {argument}.max() < {bound}"},
       .link = kIndexLink},
  };
  return rules;
}

}  // namespace cudadiag::causes
