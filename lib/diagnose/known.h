// The facts of one state of a session that a Diagnosis is made of.
#pragma once

#include <optional>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
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

struct Known {
  const session::Session& session;
  const analyse::Analysis& analysis;
  const symbolize::DeviceTestimony& testimony;
  symbolize::Symbolizer& symbolizer;
  std::optional<EagerAnswer> eager{};  // nothing: there were none
  std::optional<RanksPart> job{};      // where the ranks of the job part of which this session is a part
  std::optional<GroupsPart> groups{};  // likewise, by NCCL's communicators
};

Diagnosis diagnose(const Known& known);

// As the first findings of a Diagnosis: the first failure's process first, what failed in other processes after it, each
// group by time. Pointers into the analysis.
std::vector<const analyse::Failure*> failures_in_order(const analyse::Analysis& analysis);

}  // namespace cudadiag::diagnose
