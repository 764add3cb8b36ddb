// .debug_line of a cubin: the source line of an instruction, and the inlined functions that led to it.
//
// The tables are DWARF 2 to 4, with two extended opcodes from NVIDIA:
//   0x90  context uleb, function uleb   the rows that follow were inlined: function is the inlined one's name, as an
//                                       offset in .debug_str; context the row of the call, counted from 1 in its
//                                       sequence (0: back in the function itself)
//   0x91  function uleb                 the name alone
// If there are four bytes between the file table and the program, they are added to every such offset. A linked cubin
// has one .debug_str for several units. nvlink 13.0 leaves these bytes 0, although the units' names follow one another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evidence/bytes.h"
#include "evidence/damage.h"

namespace cudadiag::evidence {

// One level of a chain of calls. The chain begins with the instruction's own line and ends in the function itself.
struct LineFrame {
  std::string_view folder{}, file{};
  std::uint32_t line = 0;
  // The mangled name of the inlined function that contains the line: empty if unknown, nullopt if the line is in the
  // function itself.
  std::optional<std::string_view> inlined{};
};

using LineChain = std::vector<LineFrame>;

// Finds the chains of all `addresses` in one pass over `lines` (.debug_line). A chain is empty if nothing covers its
// address.
std::vector<LineChain> chains_at(std::span<const std::uint64_t> addresses, Bytes lines, Bytes strings, Budget& budget);

}  // namespace cudadiag::evidence
