// Where functions lie in the program's own executable, by the symbol table in its file, which is not in memory. The
// file is read in pieces and never mapped: one that is cut meanwhile would end the program (SIGBUS).
#pragma once

#include <cstdint>
#include <span>

namespace cudadiag::record {

struct CodeRange {
  std::uintptr_t begin = 0, end = 0;
  bool has(std::uintptr_t address) const { return address >= begin && address < end; }
};

struct NamedFunction {
  const char* name;
  CodeRange code = {};  // at the addresses in the file
  int times = 0;        // how many functions have the name
};

// False: not all of the table could be read. A file without one (strip) or with one of more than 64 MiB has nothing.
bool find_in_executable(std::span<NamedFunction> functions);

}  // namespace cudadiag::record
