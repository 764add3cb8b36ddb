#include "plan.h"

#include <charconv>
#include <map>
#include <sstream>

namespace sim {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parses "stream:S:N".
std::optional<Progress> progress(std::string_view text) {
  if (!text.starts_with("stream:")) return std::nullopt;
  text.remove_prefix(7);
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto stream = number(text.substr(0, colon));
  const auto count = number(text.substr(colon + 1));
  if (!stream || !count) return std::nullopt;
  return Progress{static_cast<std::uint32_t>(*stream), *count};
}

std::optional<Rule::Effect> effect_named(const std::string& word) {
  if (word == "fault") return Rule::Effect::fault;
  if (word == "fail") return Rule::Effect::fail;
  if (word == "hold") return Rule::Effect::hold;
  if (word == "hang") return Rule::Effect::hang;
  if (word == "missing") return Rule::Effect::missing;
  return std::nullopt;
}

bool takes(Rule& rule) {
  ++rule.seen;
  return rule.nth == 0 || rule.seen == rule.nth;
}

}  // namespace

std::string Plan::parse(std::string_view text, std::uint64_t run) {
  std::istringstream rules{std::string(text)};
  for (std::string line; std::getline(rules, line, ';');) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty()) continue;
    if (auto wrong = parse_rule(words, run); !wrong.empty()) return "\"" + line + "\": " + wrong;
  }
  return {};
}

void Plan::show_only(std::string_view visible) {
  std::istringstream list{std::string(visible)};
  for (std::string word; std::getline(list, word, ',');) {
    const auto device = number(word);
    if (!device || *device >= static_cast<std::uint64_t>(devices_)) break;
    visible_.push_back(static_cast<int>(*device));
  }
  devices_ = static_cast<int>(visible_.size());
}

std::string Plan::parse_rule(const std::vector<std::string>& words, std::uint64_t run) {
  const std::string& first = words.front();
  static const std::map<std::string, CuptiPolicy> policies = {{"cupti=held", CuptiPolicy::held},
                                                              {"cupti=too-new", CuptiPolicy::too_new},
                                                              {"cupti=shared", CuptiPolicy::shared},
                                                              {"cupti=unshared", CuptiPolicy::unshared}};
  if (const auto policy = policies.find(first); policy != policies.end()) {
    cupti_ = policy->second;
    return {};
  }
  if (first.starts_with("shuffle=")) {
    const auto seed = number(std::string_view(first).substr(8));
    if (!seed) return "shuffle= wants a number";
    shuffle_.emplace(static_cast<std::minstd_rand::result_type>(*seed));
    return {};
  }
  if (first == "injection=refused") {
    loads_injection_ = false;
    return {};
  }
  if (first == "mps") {
    shared_ = true;
    return {};
  }
  if (first == "dump-callbacks") {
    reports_dumps_ = true;
    return {};
  }
  if (first.starts_with("dump=")) {
    Rule rule;  // only the range of runs is used; in these runs, a dump is written
    for (std::size_t i = 1; i < words.size(); ++i) {
      late_dump_ |= words[i] == "late";
      if (words[i] == "late") continue;
      if (auto wrong = parse_option(rule, words[i]); !wrong.empty()) return wrong;
    }
    if (run >= rule.first_run && run <= rule.last_run) dump_ = first.substr(5);
    return {};
  }
  if (first.starts_with("start=")) {
    const auto time = number(std::string_view(first).substr(6));
    if (!time || *time > 10'000) return "start= wants milliseconds, 0 to 10000";
    start_ = std::chrono::milliseconds(*time);
    return {};
  }
  if (first.starts_with("devices=")) {
    const auto count = number(std::string_view(first).substr(8));
    if (!count || *count > 16) return "devices= wants 0 to 16";
    devices_ = static_cast<int>(*count);
    return {};
  }
  if (first.starts_with("memory=")) {
    const auto mebibytes = number(std::string_view(first).substr(7));
    if (!mebibytes || *mebibytes == 0 || *mebibytes > 1u << 20) return "memory= wants mebibytes, 1 to 1048576";
    memory_ = *mebibytes << 20;
    return {};
  }
  const auto effect = effect_named(first);
  if (!effect) return "unknown rule \"" + first + "\"";
  Rule rule;
  rule.effect = *effect;
  if (*effect == Rule::Effect::hold || *effect == Rule::Effect::hang) rule.nth = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (auto wrong = parse_option(rule, words[i]); !wrong.empty()) return wrong;
  }
  if (rule.effect == Rule::Effect::fail && rule.api.empty()) return "fail wants api=";
  const bool applies = rule.work || rule.kernel || rule.stream || rule.size;
  if (rule.effect != Rule::Effect::fail && !applies) return "applies to nothing";
  if (run < rule.first_run || run > rule.last_run) return {};
  fails_calls_ |= rule.effect == Rule::Effect::fail;
  orders_streams_ |= rule.after.has_value();
  rules_.push_back(std::move(rule));
  return {};
}

std::string Plan::parse_option(Rule& rule, const std::string& word) {
  const auto equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  const auto count = number(value);
  if (word == "copy") {
    rule.work = Work::copy;
  } else if (word == "memset") {
    rule.work = Work::memset;
  } else if (word == "prefetch") {
    rule.work = Work::prefetch;
  } else if (key == "kernel" && !value.empty()) {
    rule.work = Work::kernel;
    rule.kernel = value;
  } else if (key == "api" && !value.empty()) {
    rule.api = value;
  } else if (key == "stream" && count) {
    rule.stream = static_cast<std::uint32_t>(*count);
  } else if (key == "size" && count) {
    rule.size = *count;
  } else if (word == "nth=every") {
    rule.nth = 0;
  } else if (key == "nth" && count && *count > 0) {
    rule.nth = *count;
  } else if (key == "code" && count) {
    rule.code = static_cast<CUresult>(*count);
  } else if (key == "run") {
    const auto dash = value.find('-');
    const auto first = number(value.substr(0, dash));
    const auto last = dash == std::string::npos ? first : number(value.substr(dash + 1));
    if (!first || (!last && dash + 1 != value.size())) return "\"" + word + "\" wants N, N-M or N-";
    rule.first_run = *first;
    if (last) rule.last_run = *last;
  } else if (word == "when=now" || word == "when=unseen") {
    rule.at_once = true;
    rule.unseen = word == "when=unseen";
  } else if (word == "beside") {
    rule.beside = true;
  } else if (word == "until=notify") {
    rule.after.reset();
  } else if (key == "after" || key == "until") {
    rule.after = progress(value);
    if (!rule.after) return "\"" + word + "\" wants stream:S:N";
  } else {
    return "cannot read \"" + word + "\"";
  }
  return {};
}

Rule* Plan::match(Work work, const std::string* kernel, std::uint64_t size, std::uint32_t stream) {
  Rule* met = nullptr;
  for (Rule& rule : rules_) {
    if (rule.effect == Rule::Effect::fail || rule.effect == Rule::Effect::missing) continue;
    if (rule.work && *rule.work != work) continue;
    if (rule.kernel && (!kernel || *rule.kernel != *kernel)) continue;
    if (rule.stream && *rule.stream != stream) continue;
    if (rule.size && *rule.size != size) continue;
    if (takes(rule) && !met) met = &rule;
  }
  return met;
}

const Rule* Plan::failure_of(std::string_view api) {
  for (const char* suffix : {"_ptsz", "_ptds"}) {
    if (api.ends_with(suffix)) api.remove_suffix(5);
  }
  for (Rule& rule : rules_) {
    if (rule.effect == Rule::Effect::fail && rule.api == api && takes(rule)) return &rule;
  }
  return nullptr;
}

bool Plan::lacks_kernel(std::string_view name) const {
  for (const Rule& rule : rules_) {
    if (rule.effect == Rule::Effect::missing && rule.kernel == name) return true;
  }
  return false;
}

bool Plan::gates(std::uint32_t stream, std::uint64_t count) const {
  for (const Rule& rule : rules_) {
    if (rule.effect != Rule::Effect::fault || !rule.after || rule.fired) continue;
    if (rule.after->stream == stream && count >= rule.after->count) return true;
  }
  return false;
}

}  // namespace sim
