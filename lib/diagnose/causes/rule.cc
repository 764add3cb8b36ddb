#include "diagnose/causes/rule.h"

#include <algorithm>

#include "wire/cuda_codes.h"

namespace cudadiag::causes {
namespace {

bool contains_any(std::string_view text, const std::vector<std::string_view>& parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != text.npos; });
}

// A program's own assertion may have the same text as one of PyTorch's, so the file is compared too.
bool is_of_pytorch(std::string_view file) { return has_any(file, {"aten/src/", "/THCUNN/", "/THC/"}); }

// PyTorch itself gives these messages to torch._assert_async. Any other message is the program's own.
bool is_message_of_pytorch(std::string_view message) {
  return message.starts_with("probability tensor contains either") ||
         message.starts_with("invalid multinomial distribution");
}

// Compares the whole condition, because "input_val >= zero" ends in "val >= zero". For `condition && "message"`, a part
// of the message is enough.
bool is_condition(std::string_view condition, std::string_view wanted) {
  const std::size_t message = std::min(condition.find('"'), condition.size());
  return condition == wanted || condition.substr(message).find(wanted) != condition.npos;
}

bool fits_assertion(const Rule& rule, const Case& failed) {
  if (rule.assertions.empty() && rule.kernels.empty()) return true;
  if (!rule.assertions.empty() && !failed.assertion().empty()) {
    const bool pytorch =
        is_asked(failed) ? is_message_of_pytorch(failed.assertion()) : is_of_pytorch(failed.device().file);
    return pytorch && std::ranges::any_of(rule.assertions, [&](std::string_view wanted) {
             return is_condition(failed.assertion(), wanted);
           });
  }
  if (!rule.assertions.empty() && failed.finding.code != wire::cuda::kAssert) return false;
  return failed.kernel().find("at::native") != std::string::npos && contains_any(failed.kernel(), rule.kernels);
}

}  // namespace

bool is_asked(const Case& failed) {
  return failed.device().function.find("_assert_async") != std::string::npos ||
         (!failed.finding.device && !failed.launch_message.empty());
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != text.npos; });
}

namespace {

// `parts`: the inside of brackets in a text.
std::optional<std::string> chosen(std::string_view parts, const Facts& facts) {
  const bool may_be_left_out = parts.find('|') == parts.npos;
  for (;;) {
    const std::size_t bar = std::min(parts.find('|'), parts.size());
    if (auto part = filled(parts.substr(0, bar), facts)) return part;
    if (bar == parts.size()) break;
    parts.remove_prefix(bar + 1);
  }
  return may_be_left_out ? std::optional<std::string>("") : std::nullopt;
}

}  // namespace

std::optional<std::string> filled(std::string_view text, const Facts& facts) {
  std::string result;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find_first_of("{["), text.size());
    result += text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty()) break;
    const bool is_fact = text.front() == '{';
    const std::size_t close = text.find(is_fact ? '}' : ']');
    if (close == text.npos) return std::nullopt;
    const std::string_view inside = text.substr(1, close - 1);
    const std::string* fact = is_fact ? facts.find(inside) : nullptr;
    const auto value = fact != nullptr ? std::optional(*fact) : is_fact ? std::nullopt : chosen(inside, facts);
    if (!value) return std::nullopt;
    result += *value;
    text.remove_prefix(close + 1);
  }
  return result;
}

std::string in_dialect(std::string_view text, const Dialect& dialect) {
  const std::pair<std::string_view, bool> conditions[] = {
      {"{cuda:", !dialect.driver}, {"{python:", dialect.python}, {"{torch:", dialect.torch}};
  std::string result;
  while (!text.empty()) {
    const auto met =
        std::ranges::find_if(conditions, [&](const auto& condition) { return text.starts_with(condition.first); });
    if (met == std::end(conditions)) {
      result += text.front();
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(met->first.size());
    const std::string_view choices = text.substr(0, text.find('}'));
    const std::size_t bar = std::min(choices.find('|'), choices.size());
    result += met->second ? choices.substr(0, bar) : choices.substr(std::min(bar + 1, choices.size()));
    text.remove_prefix(std::min(choices.size() + 1, text.size()));
  }
  return result;
}

bool fits(const Rule& rule, const Case& failed, Facts& facts) {
  const auto& codes = rule.codes;
  if (!codes.empty() && std::ranges::find(codes, failed.finding.code) == codes.end()) return false;
  if (!rule.calls.empty() && (failed.asynchronous() || !contains_any(failed.call(), rule.calls))) return false;
  return fits_assertion(rule, failed) && (rule.when == nullptr || rule.when(failed, facts));
}

namespace {

using Family = const std::vector<Rule>& (*)();

// explain() tries the families in this order. Known bugs come before the general rules that also match. kernel_rules
// come last, because their error codes say little. hang_rules apply only to hangs.
constexpr Family kFamilies[] = {known_bug_rules, access_rules,   indexing_rules,   numerics_rules, capture_rules,
                                pointer_rules,   library_rules,  allocation_rules, launch_rules,   stream_rules,
                                device_rules,    hardware_rules, kernel_rules,     hang_rules};

std::optional<Explanation> cause_of(const Rule& rule, const Case& failed) {
  Facts facts;
  if (!fits(rule, failed, facts)) return std::nullopt;
  Explanation cause;
  for (const std::string_view text : rule.texts) {
    const auto whole = filled(text, facts);
    if (!whole) continue;
    cause.text = *whole;
    break;
  }
  if (cause.text.empty()) return std::nullopt;
  for (const std::string_view step : rule.fix) {
    auto whole = filled(in_dialect(step, failed.dialect), facts);
    if (whole && !whole->empty()) cause.fix.push_back(std::move(*whole));
  }
  cause.id = rule.id;
  cause.link = in_dialect(rule.link, failed.dialect);
  cause.certain = rule.sure == Sure::certain;
  cause.facts = std::move(facts.values);
  cause.proof = std::move(facts.proof);
  return cause;
}

}  // namespace

std::optional<Explanation> explain(const Case& failed) {
  for (const Family family : kFamilies) {
    if ((family == hang_rules) != (failed.finding.kind == analyse::Kind::hang)) continue;
    for (const Rule& rule : family()) {
      if (auto cause = cause_of(rule, failed)) return cause;
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> cause_ids() {
  std::vector<std::string_view> ids;
  for (const Family family : kFamilies) {
    for (const Rule& rule : family()) {
      if (std::ranges::find(ids, rule.id) == ids.end()) ids.push_back(rule.id);
    }
  }
  return ids;
}

}  // namespace cudadiag::causes
