// Which executable or library an address lies in, without asking the dynamic loader's lock: glibc 2.35's lock-free
// _dl_find_object where there is one, /proc/self/maps read again otherwise.
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
  link_map* map;   // null where /proc/self/maps was asked
  void* eh_frame;  // PT_GNU_EH_FRAME
  unsigned long long reserved[7];
};

struct LoadedModule {
  std::uintptr_t begin, end;  // of the mapped segments
  std::uintptr_t bias;        // what was added to the addresses in the file
  const link_map* map;
  std::span<const std::byte> build_id;
};

class Modules {
 public:
  static void start();
  // False: the address lies in no module.
  static bool find_object(const void* address, FoundObject& found);
  static bool find(std::uintptr_t address, LoadedModule& module);
  // Whether the dynamic loader has made ready what is found: glibc lists no module before that.
  static bool knows_what_is_ready();
  // The program headers of a module whose first page (with the ELF header) is mapped at `begin`; empty if there are
  // none.
  static std::span<const Elf64_Phdr> program_headers(std::uintptr_t begin);
  // Distinguishes modules at one place: each has its own build-id, or at least its own name.
  static std::uint64_t identity(const LoadedModule& module);
  // The file that a module was loaded from, written to `buffer`.
  static const char* path(const LoadedModule& module, std::span<char, PATH_MAX> buffer);
};

}  // namespace cudadiag::record
