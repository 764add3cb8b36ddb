// Finds symbols of loaded libraries and of the program's executable, without the dynamic loader's lock.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "record/stacks/modules.h"

namespace cudadiag::record {

// Reads the symbols of a loaded library from memory. Unlike dlsym, this also finds symbols of libraries that Python
// loaded with RTLD_LOCAL. Unlike dlopen, it does not take the dynamic loader's lock.
class LoadedLibrary {
 public:
  // Finds the library by its file name. Returns false if the dynamic loader has not initialised the library, because
  // its code must not run before that. Needs glibc 2.35 or later, because older versions do not show whether a library
  // is initialised (Modules). `where` receives the module, and may be null.
  bool find(std::string_view file_name, LoadedModule* where = nullptr);
  // Reads the given module, which the dynamic loader must have initialised.
  bool read(const LoadedModule& module);
  std::span<const std::byte> code(std::string_view name) const;
  void* function(std::string_view name) const { return const_cast<std::byte*>(code(name).data()); }
  const ElfW(Sym) * symbol(std::string_view name) const;
  // Calls `visit(std::uintptr_t*)` for each word in which the loader has stored the address of this imported function.
  template <typename Visit>
  void each_slot(std::string_view name, Visit visit) const {
    for (const auto& table : relocations_) {
      for (const ElfW(Rela) & each : table) {
        const auto* of = reinterpret_cast<const ElfW(Sym)*>(symbols_) + ELF64_R_SYM(each.r_info);
        const bool address = each.r_addend == 0 && ELF64_R_SYM(each.r_info) != 0;
        if (address && name == names_ + of->st_name) visit(reinterpret_cast<std::uintptr_t*>(bias_ + each.r_offset));
      }
    }
  }

 private:
  std::uintptr_t bias_ = 0;
  const std::byte* symbols_ = nullptr;
  const char* names_ = nullptr;
  const std::uint32_t* hash_ = nullptr;  // DT_GNU_HASH
  std::span<const ElfW(Rela)> relocations_[2];
};

struct CodeRange {
  std::uintptr_t begin = 0, end = 0;
  bool has(std::uintptr_t address) const { return address >= begin && address < end; }
};

struct NamedFunction {
  const char* name;
  CodeRange code = {};  // addresses in the file, without the load bias
  int times = 0;        // number of functions with this name
};

// Finds functions in the program's own executable by the symbol table in its file. The table is not loaded into memory.
// Files are read in pieces and never mapped: if a mapped file were truncated, the program would be killed (SIGBUS).
// Returns false if a part of the table could not be read. Finds nothing in a stripped file, or in a table larger than
// 64 MiB.
bool find_in_executable(std::span<NamedFunction> functions);

// Returns whether a section of an executable or library, ".rodata" or ".dynstr", contains the text. Reads at most 64
// MiB.
bool has_text(const char* file, const char* section, std::string_view text);

}  // namespace cudadiag::record
