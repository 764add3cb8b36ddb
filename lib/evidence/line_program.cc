#include "evidence/line_program.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "evidence/cursor.h"

namespace cudadiag::evidence {
namespace {

constexpr std::size_t kMostRows = 1u << 20;  // limit for one sequence, which covers one function
constexpr std::size_t kDeepestInlining = 256;

struct SourceFile {
  std::string_view name;
  std::uint64_t folder = 0;
};

struct LineRow {
  std::uint64_t address = 0;
  std::uint32_t line = 1, file = 1;
  std::uint32_t context = 0;   // row of the call, counted from 1; 0 in code that is not inlined
  std::uint64_t function = 0;  // offset in .debug_str, if `context` is not 0
};

struct Unit {
  std::uint8_t instruction_length = 1, line_range = 1, opcode_base = 1;
  std::int8_t line_base = 0;
  std::vector<std::uint8_t> operands;  // operand counts of the standard opcodes, from opcode 1
  std::vector<std::string_view> folders;
  std::vector<SourceFile> files;
  std::uint64_t names = 0;  // the base of offsets into .debug_str
  Bytes program;
};

// The header, followed by the program: length u32, version u16, header length u32, instruction length u8, (version 4:
// operations u8), default u8, line base i8, line range u8, opcode base u8, operand counts, folders, files.
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

// The part of .debug_str that contains the names of a unit's inlined functions.
struct UnitNames {
  std::uint64_t first = 0;  // in .debug_str
  std::uint64_t last = 0;   // offset of the last name in use, relative to `first`
  bool known = true;        // whether `first` is known
};

// A chain of inlined calls whose function names have not been looked up yet.
struct FoundChain {
  LineChain frames;
  std::vector<std::uint64_t> names;  // one for each frame except the last
  std::size_t unit = 0;              // index among the units with inlined code
};

// The addresses whose chains have not been found yet, each with the index of its chain.
using Wanted = std::multimap<std::uint64_t, std::size_t>;

class LineProgram {
 public:
  LineProgram(const Unit& unit, std::size_t ordinal, Budget& budget)
      : unit_(unit), ordinal_(ordinal), budget_(budget) {}

  // Runs the line program. For each address that the program covers, fills in the chain and removes the address from
  // `wanted`. Returns the largest offset of a function name.
  std::optional<std::uint64_t> run(Wanted& wanted, std::vector<FoundChain>& chains) {
    Cursor in(unit_.program);
    while (!in.done()) {
      const std::uint8_t opcode = in.u8();
      if (opcode >= unit_.opcode_base) {
        special(opcode);
      } else if (opcode == 0) {
        if (extended(in)) finish_sequence(wanted, chains);
      } else {
        standard(opcode, in);
      }
    }
    return last_name_;
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

  // Executes an extended opcode. Returns whether the opcode ends the sequence.
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
    if (row_.context != 0) last_name_ = std::max(last_name_.value_or(0), row_.function);
    lowest_ = std::min(lowest_, row_.address);
    if (rows_.size() < kMostRows) {
      rows_.push_back(row_);
    } else {
      too_long_ = true;
    }
  }

  void finish_sequence(Wanted& wanted, std::vector<FoundChain>& chains) {
    if (too_long_) budget_.damage();
    if (!rows_.empty() && !too_long_) {
      auto next = wanted.lower_bound(lowest_);
      while (next != wanted.end() && next->first < row_.address) {
        chains[next->second] = chain_at(next->first);
        next = wanted.erase(next);
      }
    }
    rows_.clear();
    lowest_ = std::numeric_limits<std::uint64_t>::max();
    row_ = {};
    too_long_ = false;
  }

  // Uses the last row at or before the address, because compilers put the innermost of several inlined lines last.
  FoundChain chain_at(std::uint64_t address) const {
    const LineRow* found = nullptr;
    for (const LineRow& row : rows_) {
      if (row.address <= address && (found == nullptr || row.address >= found->address)) found = &row;
    }
    FoundChain chain;
    chain.unit = ordinal_;
    while (found != nullptr && chain.frames.size() < kDeepestInlining) {
      chain.frames.push_back(frame_of(*found));
      if (found->context != 0) chain.names.push_back(found->function);
      // The row of a call must come before the inlined rows. Without this check, rows could form a cycle.
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
    return frame;
  }

  const Unit& unit_;
  std::size_t ordinal_;
  Budget& budget_;
  LineRow row_;
  std::vector<LineRow> rows_;                                         // rows of the current sequence
  std::uint64_t lowest_ = std::numeric_limits<std::uint64_t>::max();  // lowest address in rows_
  bool too_long_ = false;
  std::optional<std::uint64_t> last_name_;
};

// Computes where each unit's names begin, if the linker did not record their positions. Assumes that each unit's names
// follow those of the previous unit. If the names then do not fill .debug_str exactly, only the first unit's start is
// known.
void place_names(std::vector<UnitNames>& units, Bytes strings) {
  if (std::any_of(units.begin(), units.end(), [](const UnitNames& unit) { return unit.first != 0; })) return;
  std::uint64_t next = 0;
  for (UnitNames& unit : units) {
    unit.first = next;
    next += unit.last;
    next += strings.text(next).size() + 1;
  }
  for (std::size_t i = 1; i < units.size(); ++i) units[i].known = next == strings.size();
}

LineChain named(FoundChain found, const std::vector<UnitNames>& units, Bytes strings) {
  for (std::size_t i = 0; i < found.names.size(); ++i) {
    const UnitNames& unit = units[found.unit];
    found.frames[i].inlined = unit.known ? strings.text(unit.first + found.names[i]) : std::string_view();
  }
  return std::move(found.frames);
}

}  // namespace

std::vector<LineChain> chains_at(std::span<const std::uint64_t> addresses, Bytes lines, Bytes strings, Budget& budget) {
  std::vector<LineChain> chains(addresses.size());
  if (!budget.take(lines.size())) return chains;
  std::vector<FoundChain> found(addresses.size());
  std::vector<UnitNames> names;
  Wanted wanted;
  for (std::size_t i = 0; i < addresses.size(); ++i) wanted.emplace(addresses[i], i);
  for (std::uint64_t at = 0; lines.holds(at, 4);) {
    const std::uint64_t length = lines.u32(at);
    const Bytes bytes = lines.slice(at + 4, length);
    at += 4 + length;
    Unit unit;
    if (bytes.size() < length || !read_header(bytes, unit)) {
      budget.damage();
      continue;
    }
    const auto last = LineProgram(unit, names.size(), budget).run(wanted, found);
    if (last) names.push_back({.first = unit.names, .last = *last});
  }
  place_names(names, strings);
  for (std::size_t i = 0; i < found.size(); ++i) chains[i] = named(std::move(found[i]), names, strings);
  return chains;
}

}  // namespace cudadiag::evidence
