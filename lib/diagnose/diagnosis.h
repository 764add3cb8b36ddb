// Builds the report of a session in four phases: what failed, the run, why, and what no call reported. Each adds to the
// report, and may read what the earlier ones added.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/torch_compile.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"
#include "symbolize/tool_results.h"

namespace cudadiag::diagnose {

// Everything that is known about a session at one moment.
struct DiagnosisInput {
  const session::Session& session;
  const analyse::Analysis& analysis;
  const symbolize::ToolResults& results;
  symbolize::Symbolizer& symbolizer;
  std::optional<EagerAnswer> eager{};  // nullopt if there were no such reruns
  std::optional<RanksPart> job{};      // where the ranks of the job diverge, if the session is part of a job
  std::optional<GroupsPart> groups{};  // as `job`, according to NCCL's communicators
};

Diagnosis diagnose(const DiagnosisInput& input);

// Returns the failures of the process that failed first, then those of other processes. Each of the two groups is
// sorted by time. The first findings of a Diagnosis are in this order. The pointers point into the analysis.
std::vector<const analyse::Failure*> failures_in_order(const analyse::Analysis& analysis);

// Keeps only the findings for which `wanted` returns true. Then moves all findings of one process to the front: the
// process of the first remaining finding.
void keep_findings(Diagnosis& report, const std::function<bool(const Finding&)>& wanted);

}  // namespace cudadiag::diagnose
