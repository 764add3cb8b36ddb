// Where functions lie in the program's own executable, by the symbol table in its file, which is not in memory. The
// file is read in pieces and never mapped: one that is cut meanwhile would end the program (SIGBUS).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cudadiag::record {

struct CodeRange {
  std::uintptr_t begin = 0, end = 0;  // both 0: there is no such function
  bool has(std::uintptr_t address) const { return address >= begin && address < end; }
};

// Of each name its function, at the addresses in the file. Nothing is found in a file without such a table (strip), in
// one whose table is larger than 64 MiB, and where there is no memory.
void find_in_executable(std::span<const std::string_view> names, std::span<CodeRange> functions);

}  // namespace cudadiag::record
