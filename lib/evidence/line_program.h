// .debug_line of a cubin: which source line an instruction came from, and through which inlined functions.
//
// The tables are DWARF 2 to 4 with two extended opcodes of NVIDIA's:
//   0x90  context uleb, function uleb   the rows that follow were inlined: function is the inlined one's name, as an
//                                       offset in .debug_str; context the row of the call, counted from 1 in its
//                                       sequence (0: back in the function itself)
//   0x91  function uleb                 the name alone
// Where four bytes lie between the file table and the program, they are added to every such offset: a linked cubin has
// one .debug_str for several units. nvlink 13.0 leaves them 0 all the same, though the names lie one unit's behind the
// other's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evidence/bytes.h"
#include "evidence/damage.h"

namespace cudadiag::evidence {

// One level of a call: the first of a chain is the instruction's own line, the last one is in the function itself.
struct LineFrame {
  std::string_view folder{}, file{};
  std::uint32_t line = 0;
  // The mangled name of the inlined function that the line is in; empty if not known, none in the function itself.
  std::optional<std::string_view> inlined{};
};

using LineChain = std::vector<LineFrame>;

// The chains of all `addresses` in one walk over `lines` (.debug_line); empty if nothing covers the address.
std::vector<LineChain> chains_at(std::span<const std::uint64_t> addresses, Bytes lines, Bytes strings, Budget& budget);

}  // namespace cudadiag::evidence
