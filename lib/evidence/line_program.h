// Finds the source line of an instruction, and the inlined calls around it, in .debug_line of a cubin.
//
// The tables are DWARF 2 to 4, with two extended opcodes from NVIDIA:
//   0x90  context uleb, function uleb   The next rows are inlined code. `function` is the offset of the inlined
//                                       function's name in .debug_str. `context` is the row of the call, counted from
//                                       1 in its sequence, or 0 for code that is not inlined.
//   0x91  function uleb                 Changes only `function`.
// If there are four bytes between the file table and the program, they are the base of the name offsets. A linked cubin
// has one .debug_str for several units. nvlink 13.0 writes 0 as the base of every unit, although each unit's names
// follow those of the previous unit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evidence/bytes.h"
#include "evidence/damage.h"

namespace cudadiag::evidence {

// One level of a chain of calls. The chain begins with the instruction's own line, and ends with the function that is
// not itself inlined.
struct LineFrame {
  std::string_view folder{}, file{};
  std::uint32_t line = 0;
  // The mangled name of the inlined function that contains the line; empty if unknown; nullopt if the function is not
  // inlined.
  std::optional<std::string_view> inlined{};
};

using LineChain = std::vector<LineFrame>;

// Finds the chains of all `addresses` in one pass over `lines` (.debug_line). A chain is empty if no row covers its
// address.
std::vector<LineChain> chains_at(std::span<const std::uint64_t> addresses, Bytes lines, Bytes strings, Budget& budget);

}  // namespace cudadiag::evidence
