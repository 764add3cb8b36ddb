#include "diagnose/causes/explain.h"

#include <algorithm>

#include "diagnose/causes/families.h"

namespace cudadiag::causes {
namespace {

using Family = const std::vector<Rule>& (*)();

// explain() tries the families in this order. Known bugs come before the general rules that also match. kernel_rules
// come last, because their error codes say little. hang_rules apply only to hangs.
constexpr Family kFamilies[] = {known_bug_rules, access_rules,   indexing_rules,   numerics_rules, graph_rules,
                                memory_rules,    library_rules,  allocation_rules, launch_rules,   stream_rules,
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
      if (std::find(ids.begin(), ids.end(), rule.id) == ids.end()) ids.push_back(rule.id);
    }
  }
  return ids;
}

}  // namespace cudadiag::causes
