// The state of PyTorch's autograd at a launch: how many nodes the thread has made, and which node it is running
// backwards (wire/operation.h says what follows from it). Autograd's threads have no Python frames, so nothing else
// leads from a backward kernel to the line that caused it.
//
// No Python and no GIL: exported C++ functions of libtorch_cpu.so, which read thread-local variables. Anything
// unexpected switches this off with a note.
#pragma once

#include <atomic>
#include <cstdint>

#include "record/operations/threads.h"
#include "record/output/interner.h"

namespace cudadiag::record {

struct Origin {
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
  // PyTorch may come after CUDA, and then loads its own code into the GPU. Checks at ever fewer of these occasions:
  // each check reads a file.
  void look_again();
  // For the calling thread, whose number it stores. All zero without PyTorch.
  [[gnu::hot]] Origin current(ThreadState& thread);

 private:
  [[gnu::cold, gnu::noinline]] void look();
  [[gnu::hot, gnu::noinline]] void describe_node(const std::byte* node, const std::byte* control_block, Origin& origin);
  std::uint16_t type_of(const std::byte* node);
  void give_up(const char* why);

  enum class State : std::uint8_t { unknown, looking, ready, off };
  IdTable<4096> types_;  // by address of the virtual table
  Mutex mutex_;          // of these
  // Read by every operation: last, beside the recorder's own such members.
  std::atomic<State> state_ = State::unknown;
  std::atomic<std::uint32_t> occasions_;
  Interner* interner_ = nullptr;
  std::uint64_t (*peek_)() = nullptr;
  std::uint64_t (*own_thread_)() = nullptr;
  int (*graph_task_)() = nullptr;                  // null: this PyTorch does not export it
  void* (*current_node_)(void* result) = nullptr;  // returns a std::shared_ptr<Node>, so in memory of the caller's
};

}  // namespace cudadiag::record
