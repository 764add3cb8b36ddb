// The facts of one state of a session, from which a Diagnosis is built.
#pragma once

#include <optional>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "session/session.h"
#include "symbolize/device_testimony.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// The reruns without torch.compile, diagnosed as a separate session.
struct EagerAnswer {
  const session::Session* session = nullptr;
  const analyse::Analysis* analysis = nullptr;
  const Diagnosis* diagnosis = nullptr;
};

struct Known {
  const session::Session& session;
  const analyse::Analysis& analysis;
  const symbolize::DeviceTestimony& testimony;
  symbolize::Symbolizer& symbolizer;
  std::optional<EagerAnswer> eager{};  // nullopt without such reruns
  std::optional<RanksPart> job{};      // where the ranks of the job diverge, if the session is part of a job
  std::optional<GroupsPart> groups{};  // the same according to NCCL's communicators
};

Diagnosis diagnose(const Known& known);

// The order of the first findings of a Diagnosis: failures of the first failure's process, then those of other
// processes, each group by time. The pointers point into the analysis.
std::vector<const analyse::Failure*> failures_in_order(const analyse::Analysis& analysis);

}  // namespace cudadiag::diagnose
