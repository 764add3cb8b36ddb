// A library that is in the process already, and its symbols, read from memory: dlsym does not see what Python loaded
// for itself (RTLD_LOCAL), and dlopen would take the dynamic loader's lock on the launch path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "record/stacks/modules.h"

namespace cudadiag::record {

class LoadedLibrary {
 public:
  // Finds it by the name of its file, but only once the dynamic loader has made it ready: before, its code must not be
  // run. That can be known from glibc 2.35 on (Modules).
  bool find(std::string_view file_name);
  // Reads this module, whose code is running.
  bool read(const LoadedModule& module);
  // A function that the library defines; empty if it has none of this name.
  std::span<const std::byte> code(std::string_view name) const;
  void* function(std::string_view name) const { return const_cast<std::byte*>(code(name).data()); }

 private:
  std::uintptr_t bias_ = 0;
  const std::byte* symbols_ = nullptr;
  const char* names_ = nullptr;
  const std::uint32_t* hash_ = nullptr;  // DT_GNU_HASH
};

}  // namespace cudadiag::record
