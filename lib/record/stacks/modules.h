// Finds the executable or library that contains an address, and tracks the libraries that the program may close.
#pragma once

#include <elf.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/libc_substitutes.h"
#include "record/stacks/stack_shapes.h"

struct link_map;

namespace cudadiag::record {

struct MemoryRange {
  std::uintptr_t begin, end;
  std::uint64_t file_offset;
  const char* path;  // valid until the next call; empty for anonymous memory
};

// Reads /proc/self/maps line by line through its own buffer. Does not use the heap or stdio, and needs little stack
// space.
class MemoryMap {
 public:
  MemoryMap();
  ~MemoryMap();
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;
  bool next(MemoryRange& range);

 private:
  struct Text {
    std::array<char, 4096> read;
    std::array<char, PATH_MAX> path;
  };

  int next_byte();

  Uncancelled uncancelled_;
  int fd_;
  Scratch<Text> text_;
  std::size_t at_ = 0, filled_ = 0;
};

// glibc's struct dl_find_object (dlfcn.h from 2.35 on), declared here because older headers lack it.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  link_map* map;   // null if /proc/self/maps was used
  void* eh_frame;  // PT_GNU_EH_FRAME
  unsigned long long reserved[7];
};

struct LoadedModule {
  std::uintptr_t begin, end;  // of the mapped segments
  std::uintptr_t bias;        // the offset from addresses in the file to those in memory
  const link_map* map;
  std::span<const std::byte> build_id;
};

// Takes no lock of the dynamic loader. Uses the lock-free _dl_find_object of glibc 2.35 and later. With an older glibc,
// each look-up reads /proc/self/maps.
class Modules {
 public:
  static void start();
  static bool find_object(const void* address, FoundObject& found);
  static bool find(std::uintptr_t address, LoadedModule& module);
  // Returns true if look-ups find only modules that the dynamic loader has initialised, which requires _dl_find_object.
  static bool knows_what_is_ready();
  // Returns the program headers of a module whose first page (with the ELF header) is at `begin`.
  static std::span<const Elf64_Phdr> program_headers(std::uintptr_t begin);
  // Returns a value that distinguishes modules that are loaded at the same address one after another. It depends on the
  // build-id or, without one, on the name.
  static std::uint64_t identity(const LoadedModule& module);
  // Writes the path of the module's file to `buffer`.
  static const char* path(const LoadedModule& module, std::span<char, PATH_MAX> buffer);
};

// Tracks libraries in stacks that the program has opened at run time, and may close. Once one is closed, a different
// library with similar code may be loaded at the same address. If neither library has device code, the recorder cannot
// notice the change in any other way. CUDA's own libraries are not included.
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
