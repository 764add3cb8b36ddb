// Decides which facts reruns could still add to a session. Each kind of pass has its own condition.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "session/pass_kind.h"
#include "session/session.h"
#include "supervise/reruns/rerun_options.h"

namespace cudadiag::supervise {

// Returns whether a rerun may change, strengthen or extend the result, or an option requests a tool that has not run
// yet.
bool wants_reruns(const analyse::Analysis& analysis, const session::Manifest& manifest, const RerunOptions& options);

// Returns how many reruns will follow if all of them succeed. A rerun that does not succeed makes further ones
// necessary.
unsigned planned_reruns(const analyse::Analysis& analysis, const session::Session& session, const RerunPlan& plan);

// Returns whether the session has a failure of GPU work that is not proven yet.
bool wants_proof(const analyse::Analysis& analysis);
// Returns whether a device exception occurred for which neither the first run nor a rerun has left a dump yet.
bool wants_dump(const analyse::Analysis& analysis, const session::Manifest& manifest);
bool wants_hang_dump(const analyse::Analysis& analysis, const session::Manifest& manifest);
// Returns whether a call ran out of device memory in a process with PyTorch's allocator.
bool wants_memory(const analyse::Analysis& analysis, const session::Manifest& manifest);
// Returns whether a bad value may be the reason for a failure. Returns true after a failed assertion in a Python
// process, because operators assert that values are within bounds. If the user requested the search (`asked`), returns
// true for any failure of a Python process.
bool wants_origin(const analyse::Analysis& analysis, const session::Manifest& manifest, bool asked);
// Returns whether code that torch.compile generated failed, and no rerun has run its lines uncompiled.
bool wants_eager(const analyse::Analysis& analysis, const session::Manifest& manifest);
// Returns whether a rerun may name the tensors that race, or decide whether undecided pairs of operations race.
bool wants_races(const session::Session& session);

// Returns whether the session has a pass of this kind. Ignores a pass that was cut short and left no dump.
bool was_made(const session::Manifest& manifest, session::PassKind kind);

struct SuspectedKernels {
  std::vector<std::string> names;  // mangled, most likely first
  bool all = true;                 // the failing kernel must be one of these
};

// Finds the first failure of a kind that compute-sanitizer can detect. Returns the kernels that may have caused it.
SuspectedKernels suspected_kernels(const analyse::Analysis& analysis);
// Returns whether compute-sanitizer can detect this kind of failure.
bool memcheck_may_help(const analyse::Failure& failure);

// Why cuda-gdb has no GPU core dump to read.
enum class NoCrossCheck { asked_already, no_dump };
std::optional<NoCrossCheck> obstacle_to_cross_check(const session::Manifest& manifest);
// Returns the newest pass whose dump cuda-gdb has not read; null if there is none.
session::Pass* unchecked_dump(session::Manifest& manifest);

}  // namespace cudadiag::supervise
