// Reads the state of PyTorch's autograd at a launch. The state is how many nodes the thread has created, and which node
// it is running. wire/operation.h says how the state is used. Autograd's threads have no Python frames. Only this state
// connects a backward kernel with the line that caused it.
//
// This class needs neither Python nor the GIL. It calls exported C++ functions of libtorch_cpu.so, which read
// thread-local variables. If anything is unexpected, it switches itself off and leaves a note.
#pragma once

#include <atomic>
#include <cstdint>

#include "record/operations/threads.h"
#include "record/output/interner.h"

namespace cudadiag::record {

struct AutogradState {
  std::uint32_t number = 0, node = 0;
  std::uint16_t graph_task = 0, node_type = 0;
  std::uint8_t node_thread = 0;
};

class Autograd {
 public:
  void attach(Interner& interner) {
    interner_ = &interner;
    look();
  }
  // Call this whenever device code is loaded, because PyTorch may be loaded after CUDA and then loads device code of
  // its own. Looking for PyTorch reads a file, so most calls do nothing.
  void look_again();
  // Returns true if PyTorch has been found.
  bool ready() const { return state_.load(std::memory_order_acquire) == State::ready; }
  // Returns the state of the calling thread, and stores PyTorch's thread number in `thread`. Call this only if ready().
  [[gnu::hot]] AutogradState current(ThreadState& thread);

 private:
  [[gnu::cold, gnu::noinline]] void look();
  [[gnu::hot, gnu::noinline]] void describe_node(const std::byte* node, const std::byte* control_block,
                                                 AutogradState& origin);
  std::uint16_t type_of(const std::byte* node);
  void give_up(const char* why);

  enum class State : std::uint8_t { unknown, looking, ready, off };
  IdTable<4096> types_;  // by address of the vtable
  Mutex mutex_;          // guards `types_`
  // Every operation reads these members. They come last, because OperationRecorder's next member is also read by every
  // operation.
  Interner* interner_ = nullptr;
  std::uint64_t (*own_thread_)() = nullptr;
  int (*graph_task_)() = nullptr;  // null if this version of PyTorch does not export it
  std::uint64_t (*peek_)() = nullptr;
  void* (*current_node_)(void* result) = nullptr;  // returns a std::shared_ptr<Node>, so the caller provides its memory
  std::atomic<std::uint32_t> occasions_;
  std::atomic<State> state_ = State::unknown;
};

}  // namespace cudadiag::record
