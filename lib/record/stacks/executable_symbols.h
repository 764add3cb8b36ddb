// Finds functions in the program's own executable by the symbol table in its file, which is not in memory. Reads the
// file in pieces and never maps it: if the file were truncated meanwhile, that would end the program (SIGBUS).
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
  CodeRange code = {};  // at the addresses given in the file
  int times = 0;        // how many functions have the name
};

// Returns false if a part of the table could not be read. Finds nothing in a stripped file, or in a table over 64 MiB.
bool find_in_executable(std::span<NamedFunction> functions);

}  // namespace cudadiag::record
