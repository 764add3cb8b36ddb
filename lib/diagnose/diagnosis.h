// Builds the Diagnosis of a session from everything that is known about it at one moment.
#pragma once

#include <optional>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/model.h"
#include "session/session.h"
#include "symbolize/device_testimony.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// The reruns without torch.compile, diagnosed as a session of their own.
struct EagerAnswer {
  const session::Session* session = nullptr;
  const analyse::Analysis* analysis = nullptr;
  const Diagnosis* diagnosis = nullptr;
};

// Everything that is known about a session at one moment.
struct Known {
  const session::Session& session;
  const analyse::Analysis& analysis;
  const symbolize::DeviceTestimony& testimony;
  symbolize::Symbolizer& symbolizer;
  std::optional<EagerAnswer> eager{};  // nullopt if there were no such reruns
  std::optional<RanksPart> job{};      // where the ranks of the job diverge, if the session is part of a job
  std::optional<GroupsPart> groups{};  // as `job`, according to NCCL's communicators
};

Diagnosis diagnose(const Known& known);

// Returns the failures of the process that failed first, then those of other processes. Each of the two groups is
// sorted by time. The first findings of a Diagnosis are in this order. The pointers point into the analysis.
std::vector<const analyse::Failure*> failures_in_order(const analyse::Analysis& analysis);

// Builds a finding from one failure: its lines, operation, arguments and memory. Facts from other runs and other findings
// are added later (diagnosis.cc).
Finding finding_of(const analyse::Failure& failure, const session::Session& session, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
