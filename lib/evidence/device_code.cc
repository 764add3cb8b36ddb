#include "evidence/device_code.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace cudadiag::evidence {
namespace {

// ---- the source line of an instruction, and the inlined calls around it, in .debug_line of a cubin
//
// The tables are DWARF 2 to 4, with two extended opcodes from NVIDIA:
//   0x90  context uleb, function uleb   The next rows are inlined code. `function` is the offset of the inlined
//                                       function's name in .debug_str. `context` is the row of the call, counted from
//                                       1 in its sequence, or 0 for code that is not inlined.
//   0x91  function uleb                 Changes only `function`.
// If there are four bytes between the file table and the program, they are the base of the name offsets. A linked cubin
// has one .debug_str for several units. nvlink 13.0 writes 0 as the base of every unit, although each unit's names
// follow those of the previous unit.

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
  if (std::ranges::any_of(units, [](const UnitNames& unit) { return unit.first != 0; })) return;
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

namespace {

constexpr std::uint64_t kSectionSize = 64;  // bytes in a section header
constexpr std::uint64_t kSymbolSize = 24;
constexpr unsigned kObjectSymbol = 1, kFunctionSymbol = 2;
constexpr unsigned kKernelSymbol = 0x10;  // flag in st_other

// If only one kernel calls a device function, the function's symbol begins with the kernel's name. Removes that name:
// `$_Z6kernelPi$_Z4deepPii` becomes `_Z4deepPii`.
std::string_view own_name(std::string_view symbol) {
  const std::size_t dollar = symbol.starts_with('$') ? symbol.rfind('$') : 0;
  return dollar == 0 ? symbol : symbol.substr(dollar + 1);
}

}  // namespace

DeviceCode::DeviceCode(const std::vector<Bytes>& images, Budget& budget) : budget_(budget) {
  for (const Bytes image : images) {
    const auto elf = ElfImage::read(image);
    if (!elf) {
      budget_.damage();
      continue;
    }
    if (elf->sections_missing() > 0) budget_.damage();
    if (!budget_.take(elf->sections() * kSectionSize)) continue;
    images_.push_back(*elf);
    for (std::uint32_t i = 0; i < elf->sections(); ++i) {
      const Section section = elf->section(i);
      if (section.type == elf::kSymbols) read_symbols(static_cast<std::uint32_t>(images_.size() - 1), section);
    }
  }
  innermost_ = pieces([](const Function&) { return true; },
                      [this](std::size_t a, std::size_t b) {
                        return std::pair(functions_[a].size, a) < std::pair(functions_[b].size, b);
                      });
  kernels_ = pieces([](const Function& function) { return function.kernel; }, std::less<>());
}

// A symbol: name u32 @0, info u8 @4, other u8 @5, section u16 @6, value u64 @8, size u64 @16.
void DeviceCode::read_symbols(std::uint32_t image, const Section& table) {
  const ElfImage& elf = images_[image];
  const Bytes symbols = elf.contents(table);
  if (!budget_.take(symbols.size())) return;
  const Bytes names = elf.contents(elf.section(table.link));
  for (std::uint64_t at = 0; symbols.holds(at, kSymbolSize); at += kSymbolSize) {
    if ((symbols.u8(at + 4) & 0xf) != kFunctionSymbol) continue;
    const std::uint64_t address = symbols.u64(at + 8);
    // The driver loads a function at its first use. Until then, the symbol's value is an offset in the section rather
    // than an address.
    if (address < elf.section(symbols.u16(at + 6)).size) continue;
    functions_.push_back({.address = address,
                          .size = symbols.u64(at + 16),
                          .name = own_name(names.text(symbols.u32(at))),
                          .kernel = (symbols.u8(at + 5) & kKernelSymbol) != 0,
                          .image = image,
                          .section = symbols.u16(at + 6)});
  }
}

// Splits the address space into pieces that do not overlap, so that each look-up is a binary search.
template <typename Wanted, typename Before>
std::vector<DeviceCode::Piece> DeviceCode::pieces(Wanted wanted, Before before) const {
  std::vector<std::tuple<std::uint64_t, bool, std::size_t>> edges;  // address, whether the function begins there,
                                                                    // function
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const Function& function = functions_[i];
    if (function.size == 0 || !wanted(function)) continue;
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - function.address;
    edges.emplace_back(function.address, true, i);
    edges.emplace_back(function.address + std::min(function.size, room), false, i);
  }
  std::ranges::sort(edges);
  std::set<std::size_t, Before> open(before);
  std::vector<Piece> found;
  std::uint64_t from = 0;
  for (const auto& [address, begins, function] : edges) {
    if (!open.empty() && address > from) found.push_back({from, address, *open.begin()});
    from = address;
    begins ? void(open.insert(function)) : void(open.erase(function));
  }
  return found;
}

const Function* DeviceCode::in(const std::vector<Piece>& pieces, std::uint64_t pc) const {
  const auto after = std::ranges::upper_bound(pieces, pc, {}, &Piece::begin);
  if (after == pieces.begin() || std::prev(after)->end <= pc) return nullptr;
  return &functions_[std::prev(after)->function];
}

const Function* DeviceCode::function_at(std::uint64_t pc) const { return in(innermost_, pc); }

const Function* DeviceCode::kernel_at(std::uint64_t pc) const { return in(kernels_, pc); }

Bytes DeviceCode::instructions(const Function& function) const {
  const ElfImage& elf = images_[function.image];
  const Section section = elf.section(function.section);
  if (function.address < section.address) return {};
  const Bytes code = elf.contents(section).slice(function.address - section.address, function.size);
  return code.size() == function.size ? code : Bytes();
}

KernelFacts DeviceCode::facts(const Function& kernel) const {
  const ElfImage& elf = images_[kernel.image];
  const auto section = elf.named(".nv.info." + std::string(kernel.name));
  return section ? read_kernel_facts(elf.contents(*section)) : KernelFacts{};
}

std::vector<Variable> DeviceCode::variables(const Function& function) const {
  constexpr std::size_t kMostVariables = 4096;
  // Symbols of constants, shared memory and variables that were not loaded have smaller values.
  constexpr std::uint64_t kLowestLoaded = std::uint64_t{1} << 32;
  const ElfImage& elf = images_[function.image];
  std::vector<Variable> found;
  for (std::uint32_t i = 0; i < elf.sections(); ++i) {
    const Section table = elf.section(i);
    if (table.type != elf::kSymbols) continue;
    const Bytes symbols = elf.contents(table);
    const Bytes names = elf.contents(elf.section(table.link));
    if (!budget_.take(symbols.size())) break;
    for (std::uint64_t at = 0; symbols.holds(at, kSymbolSize) && found.size() < kMostVariables; at += kSymbolSize) {
      const std::string_view name = names.text(symbols.u32(at));
      const bool literal = name.starts_with('$') || name.starts_with("__unnamed_");
      if ((symbols.u8(at + 4) & 0xf) != kObjectSymbol || symbols.u64(at + 8) < kLowestLoaded || literal) continue;
      found.push_back({.name = std::string(name), .address = symbols.u64(at + 8), .bytes = symbols.u64(at + 16)});
    }
  }
  return found;
}

Bytes DeviceCode::variable_addresses(const Function& function) const {
  const ElfImage& elf = images_[function.image];
  const auto section = elf.named(".nv.constant4");
  return section ? elf.contents(*section) : Bytes();
}

std::vector<LineChain> DeviceCode::lines_at(std::span<const std::uint64_t> addresses) const {
  std::vector<LineChain> chains(addresses.size());
  std::vector<const Function*> functions;
  for (const std::uint64_t address : addresses) functions.push_back(function_at(address));
  for (std::uint32_t image = 0; image < images_.size(); ++image) {
    std::vector<std::uint64_t> wanted;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (functions[i] == nullptr || functions[i]->image != image) continue;
      wanted.push_back(addresses[i]);
      places.push_back(i);
    }
    const auto lines = wanted.empty() ? std::nullopt : images_[image].named(".debug_line");
    if (!lines) continue;
    const auto strings = images_[image].named(".debug_str");
    auto found = chains_at(wanted, images_[image].contents(*lines),
                           strings ? images_[image].contents(*strings) : Bytes(), budget_);
    for (std::size_t i = 0; i < places.size(); ++i) chains[places[i]] = std::move(found[i]);
  }
  return chains;
}

KernelFacts read_kernel_facts(Bytes section) {
  constexpr std::uint32_t kSized = 4, kBank = 0x0a, kParameter = 0x17, kClusterSize = 0x3d, kClusters = 0x3e;
  constexpr std::size_t kMostParameters = 4096;
  KernelFacts facts;
  for (std::uint64_t at = 0; at + 4 <= section.size();) {
    const std::uint32_t format = section.u8(at), attribute = section.u8(at + 1), value = section.u16(at + 2);
    const std::uint64_t here = at + 4;
    at = here + (format == kSized ? value : 0);
    facts.clusters |= attribute == kClusterSize || attribute == kClusters;
    if (format != kSized) continue;
    if (attribute == kBank && section.holds(here, 8) && facts.bytes == 0) {
      facts.offset = section.u16(here + 4);
      facts.bytes = section.u16(here + 6);
    }
    if (attribute == kParameter && section.holds(here, 12) && facts.parameters.size() < kMostParameters) {
      facts.parameters.push_back({section.u16(here + 4), section.u16(here + 6), section.u32(here + 8) >> 18});
    }
  }
  std::ranges::sort(facts.parameters, [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return facts;
}

const KernelFacts::Parameter* KernelFacts::at(std::uint32_t byte) const {
  const auto after = std::ranges::upper_bound(parameters, byte, {}, &Parameter::offset);
  if (after == parameters.begin()) return nullptr;
  const Parameter& before = *std::prev(after);
  return byte - before.offset < before.bytes ? &before : nullptr;
}

}  // namespace cudadiag::evidence
