// Finds functions in the program's own executable by the symbol table in its file. The table is not loaded into memory.
// The file is read in pieces and never mapped: if a mapped file were truncated, the program would be killed (SIGBUS).
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
  CodeRange code = {};  // addresses in the file, without the load bias
  int times = 0;        // number of functions with this name
};

// Returns false if a part of the table could not be read. Finds nothing in a stripped file, or in a table larger than
// 64 MiB.
bool find_in_executable(std::span<NamedFunction> functions);

}  // namespace cudadiag::record
