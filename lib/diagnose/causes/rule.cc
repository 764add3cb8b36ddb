#include "diagnose/causes/rule.h"

#include <algorithm>

namespace cudadiag::causes {
namespace {

constexpr std::uint32_t kDeviceAssert = 710;

bool contains_any(std::string_view text, const std::vector<std::string_view>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return text.find(part) != text.npos; });
}

// A program's own assertion may have the same text as one of PyTorch's, so the file is compared too.
bool is_of_pytorch(std::string_view file) { return has_any(file, {"aten/src/", "/THCUNN/", "/THC/"}); }

// Compares the whole condition, because "input_val >= zero" ends in "val >= zero". For `condition && "message"`, a part
// of the message is enough.
bool is_condition(std::string_view condition, std::string_view wanted) {
  const std::size_t message = std::min(condition.find('"'), condition.size());
  return condition == wanted || condition.substr(message).find(wanted) != condition.npos;
}

bool fits_assertion(const Rule& rule, const Case& failed) {
  if (rule.assertions.empty() && rule.kernels.empty()) return true;
  if (!rule.assertions.empty() && !failed.assertion().empty()) {
    return is_of_pytorch(failed.device().file) &&
           std::any_of(rule.assertions.begin(), rule.assertions.end(),
                       [&](std::string_view wanted) { return is_condition(failed.assertion(), wanted); });
  }
  if (!rule.assertions.empty() && failed.finding.code != kDeviceAssert) return false;
  return failed.kernel().find("at::native") != std::string::npos && contains_any(failed.kernel(), rule.kernels);
}

}  // namespace

const std::string* Facts::find(std::string_view name) const {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& fact) { return fact.first == name; });
  return found == values.end() ? nullptr : &found->second;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return text.find(part) != text.npos; });
}

std::optional<std::string> filled(std::string_view text, const Facts& facts) {
  std::string result;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    result += text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::size_t close = text.find('}');
    const std::string* value = close == text.npos ? nullptr : facts.find(text.substr(1, close - 1));
    if (value == nullptr) return std::nullopt;
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
    const auto met = std::find_if(std::begin(conditions), std::end(conditions),
                                  [&](const auto& condition) { return text.starts_with(condition.first); });
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
  if (!codes.empty() && std::find(codes.begin(), codes.end(), failed.finding.code) == codes.end()) return false;
  if (!rule.calls.empty() && (failed.asynchronous() || !contains_any(failed.call(), rule.calls))) return false;
  return fits_assertion(rule, failed) && (rule.when == nullptr || rule.when(failed, facts));
}

}  // namespace cudadiag::causes
