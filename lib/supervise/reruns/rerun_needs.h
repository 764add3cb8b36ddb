// The facts that reruns could still add to a session: every kind of pass has its need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "session/pass_kind.h"
#include "session/session.h"
#include "supervise/reruns/rerun_options.h"

namespace cudadiag::supervise {

// Whether a rerun could change, strengthen or enrich what is known, or a tool was asked for that had no say yet.
bool wants_reruns(const analyse::Analysis& analysis, const session::Manifest& manifest, const RerunOptions& options);

// How many reruns follow if each succeeds; otherwise there are more.
unsigned planned_reruns(const analyse::Analysis& analysis, const session::Session& session, const RerunPlan& plan);

// Some failure of the GPU's own work is not proven.
bool wants_proof(const analyse::Analysis& analysis);
// A device exception for whose dump no rerun was made yet.
bool wants_dump(const analyse::Analysis& analysis, const session::Manifest& manifest);
bool wants_hang_dump(const analyse::Analysis& analysis, const session::Manifest& manifest);
// A call that found no memory of the device, in a process with PyTorch's allocator.
bool wants_memory(const analyse::Analysis& analysis, const session::Manifest& manifest);
// A failed assertion in a Python process: operators assert that values are within their bounds. `asked`: any failure of
// such a process.
bool wants_origin(const analyse::Analysis& analysis, const session::Manifest& manifest, bool asked);
// A failure in code that torch.compile generated, of lines that no rerun has run without the compiler.
bool wants_eager(const analyse::Analysis& analysis, const session::Manifest& manifest);
// Which tensors race, or whether what could not be judged races.
bool wants_races(const session::Session& session);

// A pass of this kind is in the session. One that was cut short and left no dump may show more another time.
bool was_made(const session::Manifest& manifest, session::PassKind kind);

struct SuspectedKernels {
  std::vector<std::string> names;  // mangled, likeliest first
  bool all = true;                 // none but these can be the one
};

// Those in which the first failure may have happened that compute-sanitizer can see.
SuspectedKernels suspected_kernels(const analyse::Analysis& analysis);
// A failure is of a kind that compute-sanitizer can see.
bool memcheck_may_help(const analyse::Failure& failure);

// The reason why cuda-gdb has no GPU core dump to read.
enum class NoCrossCheck { asked_already, no_dump };
std::optional<NoCrossCheck> obstacle_to_cross_check(const session::Manifest& manifest);
// The newest pass with a dump that the debugger has not read. Null if there is none.
session::Pass* unchecked_dump(session::Manifest& manifest);

}  // namespace cudadiag::supervise
