// Decides which facts reruns could still add to a session. There is a condition for each kind of pass.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "session/pass_kind.h"
#include "session/session.h"
#include "supervise/reruns/rerun_options.h"

namespace cudadiag::supervise {

// Whether a rerun could change, strengthen or extend the result, or an option requests a tool that has not run yet.
bool wants_reruns(const analyse::Analysis& analysis, const session::Manifest& manifest, const RerunOptions& options);

// The number of reruns that will follow if each of them succeeds; otherwise there will be more.
unsigned planned_reruns(const analyse::Analysis& analysis, const session::Session& session, const RerunPlan& plan);

// Whether any failure of GPU work is not proven.
bool wants_proof(const analyse::Analysis& analysis);
// Whether a device exception occurred that no rerun has dumped yet.
bool wants_dump(const analyse::Analysis& analysis, const session::Manifest& manifest);
bool wants_hang_dump(const analyse::Analysis& analysis, const session::Manifest& manifest);
// Whether a call ran out of device memory in a process with PyTorch's allocator.
bool wants_memory(const analyse::Analysis& analysis, const session::Manifest& manifest);
// Whether an assertion failed in a Python process: operators assert that values are within bounds, so a bad value may
// be the reason. If `asked`, any failure of a Python process counts.
bool wants_origin(const analyse::Analysis& analysis, const session::Manifest& manifest, bool asked);
// Whether code that torch.compile generated failed, and no rerun has run its lines without the compiler.
bool wants_eager(const analyse::Analysis& analysis, const session::Manifest& manifest);
// Whether a rerun could name the racing tensors, or decide about pairs that are still undecided.
bool wants_races(const session::Session& session);

// Whether the session has a pass of this kind. A pass that was cut short without a dump does not count.
bool was_made(const session::Manifest& manifest, session::PassKind kind);

struct SuspectedKernels {
  std::vector<std::string> names;  // mangled, most likely first
  bool all = true;                 // one of these must have failed
};

// The kernels in which the first failure that compute-sanitizer can detect may have happened.
SuspectedKernels suspected_kernels(const analyse::Analysis& analysis);
// Whether compute-sanitizer can detect this kind of failure.
bool memcheck_may_help(const analyse::Failure& failure);

// Why cuda-gdb has no GPU core dump to read.
enum class NoCrossCheck { asked_already, no_dump };
std::optional<NoCrossCheck> obstacle_to_cross_check(const session::Manifest& manifest);
// The newest pass with a dump that the debugger has not read; null if there is none.
session::Pass* unchecked_dump(session::Manifest& manifest);

}  // namespace cudadiag::supervise
