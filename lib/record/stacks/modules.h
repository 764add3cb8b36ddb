// Finds the executable or library that contains an address, without the dynamic loader's lock. Uses the lock-free
// _dl_find_object of glibc 2.35 and later. With an older glibc, each look-up reads /proc/self/maps.
#pragma once

#include <elf.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>

struct link_map;

namespace cudadiag::record {

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

class Modules {
 public:
  static void start();
  // Returns false if no module contains the address.
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

}  // namespace cudadiag::record
