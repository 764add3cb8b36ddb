// Tracks libraries in stacks that the program has opened at run time, and may close. Once one is closed, a different
// library with similar code may be loaded at the same address. If neither library has device code, the recorder cannot
// notice the change in any other way. CUDA's own libraries are not included.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/lock.h"
#include "record/stacks/modules.h"
#include "record/stacks/stack_shapes.h"

namespace cudadiag::record {

class OpenedModules {
 public:
  void start();
  void met(const LoadedModule& module, std::uint64_t identity);
  // Returns 1 + the index of the innermost of these libraries on the stack; 0 if there is none.
  std::uint8_t in(const StackShape& shape, std::uintptr_t stack_pointer) const;
  bool is_still_there(std::uint8_t module) const;
  void forget() { count_.store(0, std::memory_order_release); }

 private:
  struct Module {
    std::atomic<std::uintptr_t> begin, end;
    std::atomic<std::uint64_t> identity;
    // The address of the module's build-id; 0 unless the build-id is in the module's first page. A smaller module may
    // replace this one, and later pages may then be unmapped.
    std::atomic<std::uintptr_t> words;
    std::atomic<std::uint64_t> first_words;
  };
  static bool is_occupied(const Module& place);
  std::size_t place_for(std::uintptr_t begin) const;
  bool came_with_program(const LoadedModule& module) const;

  const link_map* program_ = nullptr;
  std::atomic<std::size_t> count_ = 0;
  std::array<Module, 32> modules_;
  Mutex mutex_;
};

}  // namespace cudadiag::record
