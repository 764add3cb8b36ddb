#include "symbolize/line_rows.h"

#include <dwarf.h>

#include <vector>

#include "evidence/cursor.h"

namespace cudadiag::symbolize {
namespace {

using evidence::Bytes;
using evidence::Cursor;

struct Header {
  std::uint8_t instruction_length = 1, line_range = 1, opcode_base = 1;
  std::int8_t line_base = 0;
  std::vector<std::uint8_t> operands;  // operand counts of the standard opcodes, from opcode 1
  Bytes program;
};

// The header of a line program, in order:
//   length: u32, or 0xffffffff and then u64
//   version: u16
//   version 5: address size u8, segment selector size u8
//   header length: as wide as `length`
//   instruction length: u8
//   version 4 and later: operations per instruction u8
//   default_is_stmt u8, line base i8, line range u8, opcode base u8
//   operand counts: u8 each; then folders and files
std::optional<Header> read_header(Bytes lines) {
  constexpr std::uint32_t kWide = 0xffffffff;
  Cursor in(lines);
  std::uint64_t length = in.u32();
  const bool wide = length == kWide;
  if (wide) length = in.u64();
  const std::uint64_t begin = in.at();
  if (!lines.holds(begin, length)) return std::nullopt;
  const std::uint16_t version = in.u16();
  if (version < 2 || version > 5) return std::nullopt;
  if (version == 5) in.skip(2);
  const std::uint64_t rest = wide ? in.u64() : in.u32();
  const std::uint64_t header = in.at();
  Header found;
  found.instruction_length = in.u8();
  if (version >= 4) in.skip(1);
  in.skip(1);
  found.line_base = static_cast<std::int8_t>(in.u8());
  found.line_range = in.u8();
  found.opcode_base = in.u8();
  if (found.line_range == 0 || found.opcode_base == 0) return std::nullopt;
  for (unsigned i = 1; i < found.opcode_base; ++i) found.operands.push_back(in.u8());
  if (const std::uint64_t end = begin + length; header < end && rest < end - header) {
    found.program = lines.slice(header + rest, end - header - rest);
  }
  return found;
}

class Program {
 public:
  Program(const Header& header, std::uint64_t wanted) : header_(header), wanted_(wanted) {}

  std::vector<LineRow> run() {
    std::vector<LineRow> found;
    Cursor in(header_.program);
    while (!in.done()) {
      const std::uint8_t opcode = in.u8();
      if (opcode >= header_.opcode_base) {
        const unsigned distance = opcode - header_.opcode_base;
        advance(distance / header_.line_range);
        row_.line += static_cast<std::uint32_t>(header_.line_base + static_cast<int>(distance % header_.line_range));
        emit();
      } else if (opcode != 0) {
        standard(opcode, in);
      } else if (extended(in)) {
        if (candidate_ && wanted_ < address_) found.push_back(*candidate_);
        begin_sequence();
      }
    }
    return found;
  }

 private:
  void begin_sequence() {
    row_ = {.file = 1, .line = 1};
    address_ = 0;
    begin_.reset();
    candidate_.reset();
  }

  void standard(std::uint8_t opcode, Cursor& in) {
    switch (opcode) {
      case DW_LNS_copy:
        return emit();
      case DW_LNS_advance_pc:
        return advance(in.uleb());
      case DW_LNS_advance_line:
        row_.line += static_cast<std::uint32_t>(in.sleb());
        return;
      case DW_LNS_set_file:
        row_.file = in.uleb();
        return;
      case DW_LNS_const_add_pc:
        return advance(static_cast<std::uint64_t>(255 - header_.opcode_base) / header_.line_range);
      case DW_LNS_fixed_advance_pc:
        address_ += in.u16();
        return;
      default:
        for (unsigned i = 0; i < header_.operands[opcode - 1u]; ++i) in.uleb();
    }
  }

  // Executes an extended opcode. Returns whether it ends the sequence.
  bool extended(Cursor& in) {
    const std::uint64_t length = in.uleb();
    const std::uint64_t start = in.at();
    const std::uint8_t opcode = length == 0 ? 0 : in.u8();
    if (opcode == DW_LNE_set_address) address_ = in.u64();
    in.seek(start);
    in.skip(length);
    return opcode == DW_LNE_end_sequence;
  }

  void advance(std::uint64_t instructions) { address_ += instructions * header_.instruction_length; }

  void emit() {
    if (!begin_) begin_ = address_;
    if (*begin_ != 0 && address_ <= wanted_) candidate_ = row_;
  }

  const Header& header_;
  std::uint64_t wanted_;
  LineRow row_{.file = 1, .line = 1};
  std::uint64_t address_ = 0;
  std::optional<std::uint64_t> begin_;  // first address of the current sequence
  std::optional<LineRow> candidate_;    // latest row of the sequence at or before `wanted_`
};

}  // namespace

std::vector<LineRow> rows_at(Bytes lines, std::uint64_t address) {
  const auto header = read_header(lines);
  return header ? Program(*header, address).run() : std::vector<LineRow>{};
}

}  // namespace cudadiag::symbolize
