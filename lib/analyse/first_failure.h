// Finds the operation that caused a process's sticky error. The recording was frozen when a call first returned the
// error. The operations that may have raised it are ordered by likelihood.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/failure.h"
#include "analyse/stream_history.h"
#include "session/process_record.h"
#include "session/session.h"

namespace cudadiag::analyse {

// Returns nullopt if there was no sticky error. `process` must outlive the result.
std::optional<Failure> first_failure(const session::Process& process);

// Returns whether the process shares the GPU through the Multi-Process Service (MPS). A fault in another process may
// then break this process too. On an H200 with driver 580, a process received error 700 because another process wrote
// through a null pointer.
bool under_mps(const session::ProcessRecord& record);

// Returns whether the device failed although hooks saw no operation. CUPTI also sees calls through addresses that the
// program looked up early.
bool hooks_saw_nothing(const session::ProcessRecord& record);

struct Suspect {
  // Whether the call that issued the operation succeeded in queuing it, is still running, or returned the error.
  enum class Call { queued, not_returned, refused };

  const session::Operation* operation = nullptr;
  const StreamHistory* history = nullptr;
  Call call = Call::queued;
  bool first = false;          // first in the window of its stream
  std::uint32_t before = 0;    // how many operations of its stream lie between it and the last finished one
  bool start_unsure = false;   // follows a wait for an event that may be pending
  bool other_context = false;  // its context is not the one that returned the error
  bool checks_data = false;    // for an assert: by its name, its kernel checks the program's data
  bool uses_freed = false;     // for an illegal address: a node of the graph points to freed memory
  bool own_kernel = false;     // for a bad address: its kernel is the program's own, and another suspect's is not
};

// Returns the operations that may have been running on one stream, including refused calls.
std::vector<Suspect> suspects_of(const StreamHistory& history, const CandidateWindow& window, std::uint32_t code);

// Each function drops the suspects that it can rule out, but never all of them.
void drop_refused(std::vector<Suspect>& suspects);
void drop_not_started(std::vector<Suspect>& suspects, const std::vector<StreamStart>& starts);
void drop_kinds_that_cannot_raise(std::vector<Suspect>& suspects, std::uint32_t code);

// After an assert, kernels that check their data, and graphs with such kernels, come first.
void prefer_checking_kernels(std::vector<Suspect>& suspects, const session::ProcessRecord& record, std::uint32_t code);

// After an illegal address, graph launches come first if they point to memory that was freed since their previous
// launch. This does not apply if another suspect also received freed memory.
void prefer_stale_graphs(std::vector<Suspect>& suspects, const session::ProcessRecord& record, std::uint32_t code);
// After a bad address, the program's own kernels come before those of libraries, which have been used by many programs.
// This does not apply if a library's kernel received freed memory.
void prefer_own_kernels(std::vector<Suspect>& suspects, const session::ProcessRecord& record, std::uint32_t code);
void order_by_likelihood(std::vector<Suspect>& suspects);

// Returns why the suspect may have failed: "follows operation 2, the last one on its stream known to have finished".
std::string reason(const Suspect& suspect);

}  // namespace cudadiag::analyse
