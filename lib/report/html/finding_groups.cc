#include "report/html/finding_groups.h"

#include <algorithm>

namespace cudadiag::report {

std::vector<std::vector<std::size_t>> groups_of_findings(const diagnose::Diagnosis& report) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const diagnose::Finding& finding = report.findings[i];
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<std::size_t>& each) {
      const diagnose::Finding& first = report.findings[each.front()];
      return !finding.race && !first.race && first.pid != finding.pid && first.kind == finding.kind &&
             first.code == finding.code && first.title == finding.title &&
             diagnose::same_line(first.location, finding.location);
    });
    group == groups.end() ? groups.push_back({i}) : group->push_back(i);
  }
  return groups;
}

}  // namespace cudadiag::report
