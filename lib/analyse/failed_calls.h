// Calls that returned an error of their own and left the context usable, and the earlier call that is to blame for the
// error of a later one. From the outside, we cannot tell whether the program handled an error. We only see whether it
// queried the last error, carried on, or exited with a failure.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "analyse/failure.h"
#include "analyse/notes.h"
#include "analyse/process_ending.h"
#include "session/process_record.h"
#include "session/session.h"

namespace cudadiag::analyse {

struct CallFindings {
  std::vector<Failure> failures;  // earliest first
  std::vector<Note> notes;        // about handled errors
};

CallFindings failed_calls(const session::Process& process, const Ending& end, const SameLine& same_line = {});

// Failed calls that do not matter: probes, and queries whose answer is an error code.
bool is_benign(const session::FailedCall& error);

// Returns whether CUDA could not start at all: no driver, no GPU, or no GPU visible to this process. Programs try this
// to decide whether to use the CPU.
bool found_no_device(const session::FailedCall& error, const session::ProcessRecord& record);

// Returns whether the thread of the failed call allocated memory after the error and before `until`, in ticks.
bool was_given_memory(const session::ProcessRecord& record, const session::FailedCall& error, std::uint64_t until);

// Determines whether two calls failed in the same way at the same line.
using SameCall = std::function<bool(const session::FailedCall&, const session::FailedCall&)>;

// `process` and `same_line` must outlive the result.
SameCall same_call(const session::Process& process, const SameLine& same_line);

// Finds calls whose error the thread queried only after it had continued. For example, cudaGetLastError after a correct
// launch may return the error of an earlier call, so the launch gets the blame.
class LateErrorChecks {
 public:
  // `errors` must be sorted by serial, and must outlive this object.
  LateErrorChecks(const std::vector<const session::FailedCall*>& errors, const SameCall& same);

  // Returns the first call that failed in the same way at the same line since the thread last queried the error.
  // Returns null unless `error` is one of these calls, or a later call that returned their error.
  const session::FailedCall* cause(const session::FailedCall* error) const;

 private:
  std::map<const session::FailedCall*, const session::FailedCall*> causes_;
};

// Finds the call that broke a stream capture. The program sees only error 901: later calls on the capturing stream
// return it, and so does the call that ends the capture. The call that broke the capture returned another code from 900
// to 908. It may have run on another thread, because a capture in global mode forbids unsafe calls on all threads.
class BrokenCaptures {
 public:
  // `errors` must be sorted by serial and outlive this object.
  explicit BrokenCaptures(const std::vector<const session::FailedCall*>& errors);

  // Returns the first call that broke the capture that `error` is about. If none is known, returns the first call that
  // found it broken. Returns `error` itself if it is not about a capture.
  const session::FailedCall* cause(const session::FailedCall* error) const;

 private:
  std::map<const session::FailedCall*, const session::FailedCall*> causes_;
};

// Returns the earlier failed call that may have made `failed` fail, such as an allocation. This is the earliest failed
// call with no operation of the thread between it and `failed`. If there is none, and `failed` is a launch without a
// kernel, returns the latest call that failed to load a kernel. A failed look-up counts only if `failed` received an
// invalid handle, because look-ups are usually probes.
const session::FailedCall* swallowed_before(const session::FailedCall& failed, const session::ProcessRecord& record);

// If an operation that failed asynchronously received a null pointer, sets `swallowed` to the failed allocation that
// may have left this pointer.
void recall_failed_allocation(Failure& failure);

}  // namespace cudadiag::analyse
