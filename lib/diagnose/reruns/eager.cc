#include "diagnose/reruns/eager.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "analyse/eager.h"
#include "diagnose/facts/place.h"

namespace cudadiag::diagnose {
namespace {

void explain(Finding& finding, const Finding& eager) {
  if (!eager.cause || (finding.cause && (!finding.cause->proof.empty() || eager.cause->proof.empty()))) return;
  Cause cause = *eager.cause;
  cause.text += ", in the rerun without torch.compile";
  for (std::size_t& proof : cause.proof) {
    finding.arguments.push_back(eager.arguments[proof]);
    proof = finding.arguments.size() - 1;
  }
  finding.cause = std::move(cause);
  finding.fix = eager.fix;
}

// Returns the finding about this failure in the report on the reruns; null if there is none. If several processes have
// a matching finding, these findings must be at the same line.
const Finding* finding_for(const analyse::Failure& failure, const Diagnosis& report, const analyse::Analysis& analysis,
                           const session::Session& session) {
  const Finding* told = nullptr;
  for (const analyse::Failure& eager : analysis.failures) {
    if (!analyse::shows_line_of(failure, eager, session)) continue;
    const auto found = std::find_if(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
      return finding.pid == eager.process->pid && analyse::is_asynchronous(finding.kind);
    });
    if (found == report.findings.end()) return nullptr;
    if (told != nullptr && !same_line(told->location, found->location)) return nullptr;
    if (told == nullptr) told = &*found;
  }
  return told == nullptr || told->location.line == 0 ? nullptr : told;
}

}  // namespace

void add_eager(Diagnosis& report, const EagerAnswer& eager, const std::vector<const analyse::Failure*>& failures) {
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const Finding* told = finding_for(*failures[i], *eager.diagnosis, *eager.analysis, *eager.session);
    if (told == nullptr) continue;
    Finding& finding = report.findings[i];
    finding.related.push_back({Role::eager, told->location, analyse::Fact::matched});
    if (told->code != finding.code) {
      finding.evidence.add(fmt::format("without torch.compile, the error is {} ({})", told->title, told->code));
    }
    explain(finding, *told);
    if (!finding.cause) {
      finding.fix.insert(finding.fix.begin(), "start with " + place(told->location, report.working_directory) +
                                                  ": this line fails even without torch.compile");
    }
  }
}

}  // namespace cudadiag::diagnose
