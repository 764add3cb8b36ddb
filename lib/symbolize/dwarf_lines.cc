// Reads functions, inlined calls and lines from the DWARF of one module. Supports versions 4 and 5, in the module or in
// a debug file, with or without .dwo files.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string_view>

#include "base/text.h"
#include "evidence/bytes.h"
#include "session/user_or_library.h"
#include "symbolize/elf_module.h"

namespace cudadiag::symbolize {

namespace {

struct LineRow {
  std::uint64_t file = 0;  // index in the unit's table of files
  std::uint32_t line = 0;
};

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

// Reads the rows of a line program, sequence by sequence. libdw instead sorts all rows of a unit by address. Functions
// that the linker dropped begin at 0, and their rows then mix with those of real code.
class LineProgram {
 public:
  LineProgram(const Header& header, std::uint64_t wanted) : header_(header), wanted_(wanted) {}

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

// Returns the rows for `address` in the line program at the beginning of `lines` (DWARF 2 to 5), except in sequences
// that begin at 0. Each sequence that covers the address has one row. Several sequences cover it if the linker folded
// functions with identical code.
std::vector<LineRow> rows_at(Bytes lines, std::uint64_t address) {
  const auto header = read_header(lines);
  return header ? LineProgram(*header, address).run() : std::vector<LineRow>{};
}

using Path = std::vector<Dwarf_Die>;  // functions around an address, outermost first

// Limits how many entries of a unit are visited. An entry with several ranges counts once for each range. In a crafted
// file, entries may form cycles, so a search without a limit may never end. Real units stay below this limit.
constexpr std::size_t kMostEntries = 2'000'000;

const char* text_attribute(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(&die, name, &attribute));
}

int number_attribute(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  const bool found = dwarf_formudata(dwarf_attr(&die, name, &attribute), &value) == 0;
  return found && value <= 0x7fffffff ? static_cast<int>(value) : 0;
}

// Skips ranges that begin at 0: the linker dropped this code, and its range may overlap real code.
bool covers(Dwarf_Die& die, std::uint64_t address, std::size_t& entries) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  std::ptrdiff_t next = 0;
  for (bool first = true; (next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0; first = false) {
    if (begin != 0 && begin <= address && address < end) return true;
    if (!first && ++entries > kMostEntries) return false;
  }
  return false;
}

bool is_function(int tag) { return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine; }

// A function of a local class is described inside the enclosing function, but its code is outside that function's
// range. With `everywhere`, visits the whole unit and also finds these functions.
bool find_functions(Dwarf_Die& scope, std::uint64_t address, bool everywhere, int depth, std::size_t& entries,
                    Path& path) {
  Dwarf_Die child;
  if (depth > kDeepestScope || dwarf_child(&scope, &child) != 0) return false;
  do {
    if (++entries > kMostEntries) return false;
    const int tag = dwarf_tag(&child);
    const bool here = (is_function(tag) || tag == DW_TAG_lexical_block) && covers(child, address, entries);
    const bool on_path = here && is_function(tag);
    if (on_path) path.push_back(child);
    const bool descend = here || is_container(tag) || (everywhere && (is_function(tag) || tag == DW_TAG_lexical_block));
    if (descend && find_functions(child, address, everywhere, depth + 1, entries, path)) return true;
    if (on_path) return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

std::string absolute_path(const char* file, Dwarf_Die& unit) {
  if (!file) return {};
  std::filesystem::path path(file);
  Dwarf_Attribute attribute;
  const char* folder = dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));
  if (path.is_relative() && folder) path = std::filesystem::path(folder) / path;
  return path.lexically_normal().string();
}

struct Position {
  std::string file;
  int line = 0;
};

// Returns all sections of that name. An ELF file may have several.
std::vector<evidence::Bytes> sections_of(Dwarf* dwarf, std::string_view wanted) {
  std::vector<evidence::Bytes> found;
  Elf* elf = dwarf_getelf(dwarf);
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return found;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    const char* name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : nullptr;
    if (!name || name != wanted) continue;
    const Elf_Data* data = elf_getdata(section, nullptr);  // already decompressed by libdw
    if (data && data->d_buf && data->d_size > 0) found.emplace_back(data->d_buf, data->d_size);
  }
  return found;
}

// Returns whether all string sections end in a NUL. libdw reads names up to a NUL, even past the end of the section
// (elfutils 0.188, read_srclines).
bool strings_end(Dwarf* dwarf) {
  for (const char* name : {".debug_line_str", ".debug_str"}) {
    const auto sections = sections_of(dwarf, name);
    const auto ends = [](const evidence::Bytes& strings) { return strings.u8(strings.size() - 1) == 0; };
    if (!std::ranges::all_of(sections, ends)) return false;
  }
  return true;
}

// Searches all line sequences of the unit, except those of functions that the linker dropped.
std::vector<Position> positions_at(Dwarf* dwarf, Dwarf_Die& unit, std::uint64_t address) {
  constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
  Dwarf_Attribute attribute;
  Dwarf_Word program = 0;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_formudata(dwarf_attr(&unit, DW_AT_stmt_list, &attribute), &program) != 0) return {};
  const auto tables = sections_of(dwarf, ".debug_line");
  if (tables.empty()) return {};
  std::vector<Position> positions;
  for (const LineRow& row : rows_at(tables.front().slice(program, kAll), address)) {
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || row.file >= count) continue;
    positions.push_back(
        {absolute_path(dwarf_filesrc(files, row.file, nullptr, nullptr), unit), static_cast<int>(row.line)});
  }
  return positions;
}

Position position_of_address(Dwarf* dwarf, Dwarf_Die& unit, std::uint64_t address) {
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  Dwarf_Addr first = 1;
  if (dwarf_getsrclines(&unit, &lines, &count) == 0) dwarf_lineaddr(dwarf_onesrcline(lines, 0), &first);
  if (first == 0) {
    const auto positions = positions_at(dwarf, unit, address);
    return positions.empty() ? Position{} : positions.front();
  }
  Dwarf_Line* entry = dwarf_getsrc_die(&unit, address);
  int line = 0;
  if (!entry || dwarf_lineno(entry, &line) != 0) return {};
  return {absolute_path(dwarf_linesrc(entry, nullptr, nullptr), unit), line};
}

// Returns the line in the enclosing function that called `inlined`. If a .dwo file describes the call, that file has
// the names of source files, but their folder is in `unit`, the skeleton.
Position position_of_call(Dwarf_Die& inlined, Dwarf_Die& unit) {
  const int line = number_attribute(inlined, DW_AT_call_line);
  const int file = number_attribute(inlined, DW_AT_call_file);
  Dwarf_Die own_unit;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (!dwarf_diecu(&inlined, &own_unit, nullptr, nullptr) || dwarf_getsrcfiles(&own_unit, &files, &count) != 0) {
    return {"", line};
  }
  const char* name = static_cast<std::size_t>(file) < count ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr;
  return {absolute_path(name, unit), line};
}

// Returns the declaration that a concrete or an inlined instance refers to.
Dwarf_Die declaration_of(Dwarf_Die die) {
  for (int step = 0; step < kDeepestScope; ++step) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) && !dwarf_attr(&die, DW_AT_specification, &attribute))
      break;
    if (!dwarf_formref_die(&attribute, &next)) break;
    die = next;
  }
  return die;
}

// Returns the name of a function without a linkage name: a C function, or a file-local function, qualified by its
// scopes.
std::string qualified_name(Dwarf_Die& function) {
  const char* own = text_attribute(function, DW_AT_name);
  if (!own) return {};
  std::string name = own;
  if (dwarf_hasattr_integrate(&function, DW_AT_external)) return name;  // C
  Dwarf_Die declaration = declaration_of(function);
  Dwarf_Die* list = nullptr;
  const int count = dwarf_getscopes_die(&declaration, &list);
  const std::unique_ptr<Dwarf_Die, decltype(&std::free)> scopes(list, &std::free);
  for (int i = 1; i < count; ++i) {
    Dwarf_Die& scope = scopes.get()[i];
    if (!is_container(dwarf_tag(&scope))) continue;
    const char* scope_name = text_attribute(scope, DW_AT_name);
    name = std::string(scope_name ? scope_name : "(anonymous namespace)") + "::" + name;
  }
  return name;
}

// Adds to `found` all names in `names` of functions that have code in this scope, even if the linker dropped the code.
void find_definitions(Dwarf_Die& scope, const std::vector<std::string>& names, int depth, std::size_t& entries,
                      std::set<std::string>& found) {
  Dwarf_Die child;
  if (depth > kDeepestScope || dwarf_child(&scope, &child) != 0) return;
  do {
    if (++entries > kMostEntries) return;
    const int tag = dwarf_tag(&child);
    if (is_container(tag)) find_definitions(child, names, depth + 1, entries, found);
    if (tag != DW_TAG_subprogram || (!dwarf_hasattr(&child, DW_AT_low_pc) && !dwarf_hasattr(&child, DW_AT_ranges)))
      continue;
    const char* name = text_attribute(child, DW_AT_linkage_name);
    if (!name) name = text_attribute(child, DW_AT_name);
    if (name && std::ranges::find(names, name) != names.end()) found.insert(name);
  } while (dwarf_siblingof(&child, &child) == 0);
}

// If the unit's .dwo file is missing, returns its path; otherwise "".
std::string missing_split_file(Dwarf_Die& unit, const Dwarf_Die& split) {
  if (split.addr) return {};
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_dwo_name, DW_AT_GNU_dwo_name}) {
    if (const char* file = dwarf_formstring(dwarf_attr(&unit, name, &attribute))) return absolute_path(file, unit);
  }
  return {};
}

NativeFrame frame_of(Dwarf_Die& function, const Position& position) {
  NativeFrame frame;
  frame.file = position.file;
  frame.line = position.line;
  frame.inlined = dwarf_tag(&function) == DW_TAG_inlined_subroutine;
  const char* linkage = text_attribute(function, DW_AT_linkage_name);
  if (!linkage) linkage = text_attribute(function, DW_AT_MIPS_linkage_name);
  if (linkage) frame.mangled = linkage;
  frame.function = linkage ? base::demangle(linkage) : qualified_name(function);
  return frame;
}

}  // namespace

DwarfLines::DwarfLines(Dwfl_Module* module) : module_(module), dwarf_(dwfl_module_getdwarf(module, &bias_)) {
  if (dwarf_ && !strings_end(dwarf_)) dwarf_ = nullptr;
}

Elf* DwarfLines::debug_file() const { return dwarf_ ? dwarf_getelf(dwarf_) : nullptr; }

std::vector<NativeFrame> DwarfLines::frames(std::uint64_t address) {
  Dwarf_Die found;
  const auto offset = unit_at(address);
  Dwarf_Die* unit = offset ? dwarf_offdie(dwarf_, *offset, &found) : nullptr;
  if (!unit) return {};
  address -= bias_;
  Dwarf_Die scopes = *unit, split;
  const bool described = dwarf_cu_info(unit->cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) == 0;
  if (described && split.addr) scopes = split;
  const std::string missing = described ? missing_split_file(*unit, split) : "";
  if (!missing.empty()) missing_file_ = missing;
  Path path;
  std::size_t entries = 0;
  if (!find_functions(scopes, address, false, 0, entries, path)) {
    find_functions(scopes, address, true, 0, entries, path);
  }

  std::vector<NativeFrame> frames;
  Position position = position_of_address(dwarf_, *unit, address);
  // The line is in a library header whose code was inlined here. Only the missing .dwo file has the line of the call.
  if (!missing.empty() && session::is_library_source(position.file)) return {};
  for (auto function = path.rbegin(); function != path.rend(); ++function) {
    frames.push_back(frame_of(*function, position));
    if (dwarf_tag(&*function) != DW_TAG_inlined_subroutine) return frames;  // the enclosing scope is not its caller
    position = position_of_call(*function, *unit);
  }
  NativeFrame nameless;
  nameless.file = position.file;
  nameless.line = position.line;
  if (!position.file.empty()) frames.push_back(nameless);
  return frames;
}

namespace {

// Returns the only operation of a location; nullptr if there are several, or if the location is elsewhere here.
const Dwarf_Op* only_operation(Dwarf_Die& entry, unsigned attribute, Dwarf_Addr address) {
  Dwarf_Attribute found;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (!dwarf_attr_integrate(&entry, attribute, &found)) return nullptr;
  if (dwarf_getlocation_addr(&found, address, &operations, &count, 1) != 1 || count != 1) return nullptr;
  return operations;
}

bool holds(Dwarf_Die& variable, Dwarf_Addr address, std::int64_t place) {
  const Dwarf_Op* where = only_operation(variable, DW_AT_location, address);
  if (where == nullptr || where->atom != DW_OP_fbreg) return false;
  const auto begin = static_cast<std::int64_t>(where->number);
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  Dwarf_Word bytes = 0;
  if (!dwarf_attr_integrate(&variable, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &type)) return false;
  if (dwarf_aggregate_size(&type, &bytes) != 0) return false;
  return begin <= place && static_cast<std::uint64_t>(place - begin) < bytes;
}

}  // namespace

std::string DwarfLines::variable(std::uint64_t address, std::uint64_t below) {
  Dwarf_Die found;
  const auto offset = unit_at(address);
  Dwarf_Die* unit = offset ? dwarf_offdie(dwarf_, *offset, &found) : nullptr;
  Dwarf_Die* scopes = nullptr;
  const int count = unit ? dwarf_getscopes(unit, address - bias_, &scopes) : 0;
  const std::unique_ptr<Dwarf_Die, decltype(&std::free)> owned(scopes, &std::free);
  const auto place = -static_cast<std::int64_t>(below);
  bool by_cfa = false;  // the frame base of the function is the CFA
  for (int i = 0; i < count; ++i) {
    if (dwarf_tag(&scopes[i]) != DW_TAG_subprogram) continue;
    const Dwarf_Op* base = only_operation(scopes[i], DW_AT_frame_base, address - bias_);
    by_cfa |= base != nullptr && base->atom == DW_OP_call_frame_cfa;
  }
  for (int i = 0; by_cfa && i < count; ++i) {
    Dwarf_Die entry;
    if (dwarf_child(&scopes[i], &entry) != 0) continue;
    do {
      const int tag = dwarf_tag(&entry);
      const bool named = (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) && dwarf_diename(&entry) != nullptr;
      if (named && holds(entry, address - bias_, place)) return dwarf_diename(&entry);
    } while (dwarf_siblingof(&entry, &entry) == 0);
  }
  return "";
}

DwarfLines::Folding DwarfLines::folding(std::uint64_t address, const std::vector<std::string>& names) const {
  if (!dwarf_) return Folding::none;
  constexpr std::size_t kMostLookedAt = 10'000'000;  // limit; reading this many takes three seconds
  std::size_t looked_at = 0;
  Dwarf_CU* cu = nullptr;
  Dwarf_Die unit, split;
  std::set<std::string> defined;
  std::set<std::pair<std::string, int>> lines;
  while (dwarf_get_units(dwarf_, cu, &cu, nullptr, nullptr, &unit, &split) == 0) {
    std::set<std::string> here;
    std::size_t entries = 0;
    find_definitions(split.addr ? split : unit, names, 0, entries, here);
    if ((looked_at += entries) > kMostLookedAt) return Folding::of_several_lines;  // the search is incomplete
    if (here.empty()) continue;
    defined.merge(here);
    for (const Position& at : positions_at(dwarf_, unit, address - bias_)) lines.insert({at.file, at.line});
  }
  if (defined.size() < 2) return Folding::none;
  return lines.size() == 1 ? Folding::of_one_line : Folding::of_several_lines;
}

std::optional<std::uint64_t> DwarfLines::unit_at(std::uint64_t address) {
  if (!dwarf_) return std::nullopt;
  Dwarf_Addr bias = 0;
  const std::uint64_t wanted = address - bias_;
  Dwarf_Die* likely = dwfl_module_addrdie(module_, address, &bias);
  std::size_t entries = 0;
  if (likely && covers(*likely, wanted, entries)) return dwarf_dieoffset(likely);
  if (!units_) index_units();
  const auto after = std::ranges::upper_bound(*units_, wanted, {}, &UnitRange::begin);
  if (after == units_->begin() || std::prev(after)->end <= wanted) {
    return likely ? std::optional(dwarf_dieoffset(likely)) : std::nullopt;
  }
  return std::prev(after)->unit;
}

// Reads the ranges of the units themselves, because .debug_aranges is unreliable. Clang does not write this section,
// and functions that the linker dropped may hide real ones there.
void DwarfLines::index_units() {
  units_.emplace();
  Dwarf_CU* cu = nullptr;
  Dwarf_Die unit, split;
  constexpr std::size_t kMostRanges = 10'000'000;  // limit; reading this many takes a second
  std::size_t ranges = 0;
  while (dwarf_get_units(dwarf_, cu, &cu, nullptr, nullptr, &unit, &split) == 0) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    std::ptrdiff_t next = 0;
    while (++ranges < kMostRanges && (next = dwarf_ranges(&unit, next, &base, &begin, &end)) > 0) {
      if (begin != 0 && begin < end) units_->push_back({begin, end, dwarf_dieoffset(&unit)});
    }
  }
  std::ranges::sort(*units_, {}, &UnitRange::begin);
}

}  // namespace cudadiag::symbolize
