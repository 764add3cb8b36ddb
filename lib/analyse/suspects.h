// The suspects of a sticky error: collects the operations that may have been running, drops those that cannot have
// raised it, and orders the rest by likelihood.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/candidate_window.h"
#include "analyse/hangs/event_waits.h"

namespace cudadiag::analyse {

// Returns whether only a kernel can raise the exception. Copies and memsets can only raise 700, 719 or hardware errors.
bool only_kernels_raise(std::uint32_t code);

struct Suspect {
  // How its own call ended, as far as that affects its likelihood.
  enum class Call { queued, not_returned, refused };

  const session::Operation* operation = nullptr;
  const StreamHistory* history = nullptr;
  Call call = Call::queued;
  bool first = false;          // first in the window of its stream
  std::uint32_t before = 0;    // how many operations lie between it and the last finished one
  bool start_unsure = false;   // waits for another stream that may not have reached that point
  bool other_context = false;  // not the context in which the error was returned
  bool checks_data = false;    // for an assert: its kernel's name shows that it checks the program's data
  bool uses_freed = false;     // for an illegal address: a node of the graph points to freed memory
};

// Returns the operations that may have been running on one stream, including refused calls.
std::vector<Suspect> suspects_of(const StreamHistory& history, const Window& window, std::uint32_t code);

// Each function drops the suspects that it can rule out, unless none would be left.
void drop_refused(std::vector<Suspect>& suspects);
void drop_not_started(std::vector<Suspect>& suspects, const std::vector<StreamStart>& starts);
void drop_kinds_that_cannot_raise(std::vector<Suspect>& suspects, std::uint32_t code);

// After an assert, kernels that check their data, and graphs with such kernels, come first.
void prefer_checking_kernels(std::vector<Suspect>& suspects, const session::ProcessRecord& record, std::uint32_t code);

// After an illegal address, graph launches come first if they point to memory that was freed since their previous
// launch, unless another suspect also received freed memory.
void prefer_stale_graphs(std::vector<Suspect>& suspects, const session::ProcessRecord& record, std::uint32_t code);
void order_by_likelihood(std::vector<Suspect>& suspects);

// Returns why the suspect may have failed: "follows operation 2, the last one on its stream known to have finished".
std::string reason(const Suspect& suspect);

}  // namespace cudadiag::analyse
