#include "gpucore/line_program.h"

#include <algorithm>

#include "gpucore/cursor.h"

namespace cudadiag::gpucore {
namespace {

constexpr std::size_t kMostRows = 1u << 20;  // of a sequence, that is of a function
constexpr std::size_t kDeepestInlining = 256;

struct SourceFile {
  std::string_view name;
  std::uint64_t folder = 0;
};

struct LineRow {
  std::uint64_t address = 0;
  std::uint32_t line = 1, file = 1;
  std::uint32_t context = 0;   // row of the call, from 1; 0 where nothing is inlined
  std::uint64_t function = 0;  // in .debug_str, if context is set
};

struct Unit {
  std::uint8_t instruction_length = 1, line_range = 1, opcode_base = 1;
  std::int8_t line_base = 0;
  std::vector<std::uint8_t> operands;  // how many the standard opcodes have, from opcode 1
  std::vector<std::string_view> folders;
  std::vector<SourceFile> files;
  std::uint64_t names = 0;  // what offsets into .debug_str are relative to
  Bytes program;
};

// The header, after which the program begins: length u32, version u16, header length u32, instruction length u8,
// (version 4: operations u8), default u8, line base i8, line range u8, opcode base u8, operand counts, folders, files.
bool read_header(Bytes bytes, Unit& unit) {
  Cursor in(bytes);
  const std::uint16_t version = in.u16();
  if (version < 2 || version > 4) return false;
  const std::uint64_t program = in.u32() + in.at();
  unit.instruction_length = in.u8();
  if (version == 4) in.u8();
  in.u8();
  unit.line_base = static_cast<std::int8_t>(in.u8());
  unit.line_range = in.u8();
  unit.opcode_base = in.u8();
  if (unit.line_range == 0 || unit.opcode_base == 0 || program > bytes.size()) return false;
  for (unsigned i = 1; i < unit.opcode_base; ++i) unit.operands.push_back(in.u8());
  for (std::string_view folder = in.text(); !folder.empty(); folder = in.text()) unit.folders.push_back(folder);
  for (std::string_view name = in.text(); !name.empty(); name = in.text()) {
    unit.files.push_back({.name = name, .folder = in.uleb()});
    in.uleb();  // time
    in.uleb();  // size
  }
  if (in.at() + 4 == program) unit.names = in.u32();
  unit.program = bytes.slice(program, bytes.size());
  return true;
}

class LineProgram {
 public:
  LineProgram(const Unit& unit, Bytes strings, Budget& budget) : unit_(unit), strings_(strings), budget_(budget) {}

  // Runs the program and fills the chains of the addresses that it covers.
  void run(std::span<const std::uint64_t> addresses, std::vector<LineChain>& chains) {
    Cursor in(unit_.program);
    while (!in.done()) {
      const std::uint8_t opcode = in.u8();
      if (opcode >= unit_.opcode_base) {
        special(opcode);
      } else if (opcode == 0) {
        if (extended(in)) finish_sequence(addresses, chains);
      } else {
        standard(opcode, in);
      }
    }
  }

 private:
  void special(std::uint8_t opcode) {
    const unsigned distance = opcode - unit_.opcode_base;
    advance(distance / unit_.line_range);
    row_.line += static_cast<std::uint32_t>(unit_.line_base + static_cast<int>(distance % unit_.line_range));
    emit();
  }

  void standard(std::uint8_t opcode, Cursor& in) {
    enum { copy = 1, advance_pc, advance_line, set_file, set_column, negate, block, add_constant, add_fixed };
    switch (opcode) {
      case copy:
        return emit();
      case advance_pc:
        return advance(in.uleb());
      case advance_line:
        row_.line += static_cast<std::uint32_t>(in.sleb());
        return;
      case set_file:
        row_.file = static_cast<std::uint32_t>(in.uleb());
        return;
      case negate:
      case block:
        return;
      case add_constant:
        return advance(static_cast<std::uint64_t>(255 - unit_.opcode_base) / unit_.line_range);
      case add_fixed:
        row_.address += in.u16();
        return;
      default:
        for (unsigned i = 0; i < unit_.operands[opcode - 1u]; ++i) in.uleb();
    }
  }

  // Whether the sequence ends here.
  bool extended(Cursor& in) {
    enum { end_sequence = 1, set_address = 2, inlined_call = 0x90, function_name = 0x91 };
    const std::uint64_t length = in.uleb();
    const std::uint64_t start = in.at();
    const std::uint8_t opcode = length == 0 ? 0 : in.u8();
    if (opcode == set_address) row_.address = in.u64();
    if (opcode == inlined_call) {
      row_.context = static_cast<std::uint32_t>(in.uleb());
      row_.function = in.uleb();
    }
    if (opcode == function_name) row_.function = in.uleb();
    in.seek(start);
    in.skip(length);
    return opcode == end_sequence;
  }

  void advance(std::uint64_t instructions) { row_.address += instructions * unit_.instruction_length; }

  void emit() {
    if (rows_.size() < kMostRows) {
      rows_.push_back(row_);
    } else {
      too_long_ = true;
    }
  }

  void finish_sequence(std::span<const std::uint64_t> addresses, std::vector<LineChain>& chains) {
    if (too_long_) budget_.damage();
    for (std::size_t i = 0; i < addresses.size() && !rows_.empty() && !too_long_; ++i) {
      if (chains[i].empty() && addresses[i] < row_.address) chains[i] = chain_at(addresses[i]);
    }
    rows_.clear();
    row_ = {};
    too_long_ = false;
  }

  // The last row at or before the address: compilers put the innermost of several inlined lines last.
  LineChain chain_at(std::uint64_t address) const {
    const LineRow* found = nullptr;
    for (const LineRow& row : rows_) {
      if (row.address <= address && (found == nullptr || row.address >= found->address)) found = &row;
    }
    LineChain chain;
    while (found != nullptr && chain.size() < kDeepestInlining) {
      chain.push_back(frame_of(*found));
      // Calls come before what they inline: anything else would be a cycle.
      const auto here = static_cast<std::size_t>(found - rows_.data());
      found = found->context != 0 && found->context - 1 < here ? &rows_[found->context - 1] : nullptr;
    }
    return chain;
  }

  LineFrame frame_of(const LineRow& row) const {
    LineFrame frame{.line = row.line};
    if (row.file >= 1 && row.file <= unit_.files.size()) {
      const SourceFile& file = unit_.files[row.file - 1];
      frame.file = file.name;
      if (file.folder >= 1 && file.folder <= unit_.folders.size()) frame.folder = unit_.folders[file.folder - 1];
    }
    if (row.context != 0) frame.inlined = strings_.text(unit_.names + row.function);
    return frame;
  }

  const Unit& unit_;
  Bytes strings_;
  Budget& budget_;
  LineRow row_;
  std::vector<LineRow> rows_;  // of this sequence
  bool too_long_ = false;
};

}  // namespace

std::vector<LineChain> chains_at(std::span<const std::uint64_t> addresses, Bytes lines, Bytes strings, Budget& budget) {
  std::vector<LineChain> chains(addresses.size());
  if (!budget.take(lines.size())) return chains;
  for (std::uint64_t at = 0; lines.holds(at, 4);) {
    const std::uint64_t length = lines.u32(at);
    const Bytes bytes = lines.slice(at + 4, length);
    at += 4 + length;
    Unit unit;
    if (bytes.size() < length || !read_header(bytes, unit)) {
      budget.damage();
      continue;
    }
    LineProgram(unit, strings, budget).run(addresses, chains);
  }
  return chains;
}

}  // namespace cudadiag::gpucore
