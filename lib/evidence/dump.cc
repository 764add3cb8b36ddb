#include "evidence/dump.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "evidence/dump_rows.h"

namespace cudadiag::evidence {
namespace {

constexpr std::uint32_t kFirstKind = 0x80000000;

bool is(const Section& section, Kind kind) { return section.type == kFirstKind + static_cast<std::uint32_t>(kind); }

// Returns the string table for rows, not the one for section names.
Bytes strings_of(const ElfImage& elf) {
  const auto strings = elf.named(".strtab");
  return strings && strings->type == elf::kStrings ? elf.contents(*strings) : Bytes();
}

}  // namespace

// Reads the tables from the top of the hierarchy down, regardless of their order in the file. The parent of a table
// must be one level higher, so no table can be its own ancestor.
class DumpReader {
 public:
  explicit DumpReader(Dump& dump) : dump_(dump), strings_(strings_of(dump.elf_)) { index_sections(); }

  void read() {
    read_roots();
    Dump& d = dump_;
    read_tables(Kind::contexts, Kind::devices, d.contexts, decode_context);
    read_tables(Kind::modules, Kind::contexts, d.modules, decode_module);
    read_tables(Kind::grids, Kind::devices, d.grids, decode_grid);
    for (Row row = 0; row < d.grids.size(); ++row)
      d.grid_rows_.try_emplace({d.grids[row].device, d.grids[row].id}, row);
    read_tables(Kind::sms, Kind::devices, d.sms,
                [&](Bytes row, Row device) { return decode_sm(row, device, strings_); });
    read_tables(Kind::ctas, Kind::sms, d.ctas, decode_cta);
    read_tables(Kind::warps, Kind::ctas, d.warps, decode_warp);
    read_tables(Kind::lanes, Kind::warps, d.lanes, decode_lane);
    read_code();
  }

 private:
  struct Table {
    Kind kind{};
    Row first = 0, count = 0;
  };

  void index_sections() {
    const ElfImage& elf = dump_.elf_;
    if (elf.sections_missing() > 0) dump_.budget_.damage();
    for (std::uint32_t i = 0; i < elf.sections(); ++i) {
      const Section section = elf.section(i);
      if (i > 0 && section.type == elf::kNone) dump_.budget_.damage();  // only the first section may be empty
      for (const Kind kind : {Kind::code, Kind::devices, Kind::contexts, Kind::sms, Kind::grids, Kind::ctas,
                              Kind::warps, Kind::lanes, Kind::modules, Kind::metadata}) {
        if (is(section, kind)) sections_[kind].push_back(i);
      }
      for (const Kind kind : {Kind::registers, Kind::backtrace, Kind::predicates, Kind::parameters,
                              Kind::uniform_registers, Kind::uniform_predicates}) {
        if (is(section, kind))
          dump_.children_.push_back({section.link, section.info, static_cast<std::uint32_t>(kind), i});
      }
    }
    std::sort(dump_.children_.begin(), dump_.children_.end());
    for (const Kind kind : {Kind::devices, Kind::sms}) {
      if (sections_[kind].empty()) dump_.budget_.damage();  // every dump has devices and SMs
    }
  }

  // The rows of a table in the file, without an incomplete last row.
  struct Rows {
    Bytes bytes;
    std::uint64_t stride = 1;
    Row count = 0;
    Bytes operator[](Row row) const { return bytes.slice(row * stride, stride); }
  };
  Rows rows_of(Kind kind, const Section& section) {
    Rows rows;
    if (section.size == 0) return rows;
    if (!dump_.elf_.whole(section)) dump_.budget_.damage();
    if (section.entry_size < smallest_row(kind)) return dump_.budget_.damage(), rows;
    rows.bytes = dump_.elf_.contents(section);
    rows.stride = section.entry_size;
    if (rows.bytes.size() % rows.stride != 0) dump_.budget_.damage();
    if (dump_.budget_.take(rows.bytes.size())) rows.count = static_cast<Row>(rows.bytes.size() / rows.stride);
    return rows;
  }

  std::optional<Row> parent_of(const Section& section, Kind kind) {
    const auto table = tables_.find(section.link);
    if (table != tables_.end() && table->second.kind == kind && section.info < table->second.count) {
      return table->second.first + section.info;
    }
    if (section.size > 0) dump_.budget_.damage();
    return std::nullopt;
  }

  template <typename Entry>
  static void set_home(Entry& entry, Home home) {
    if constexpr (requires { entry.home; }) entry.home = home;
  }

  template <typename Entry, typename Decode>
  void read_table(std::uint32_t index, Kind kind, Row parent, std::vector<Entry>& to, Decode decode) {
    const Rows rows = rows_of(kind, dump_.elf_.section(index));
    tables_[index] = {.kind = kind, .first = static_cast<Row>(to.size()), .count = rows.count};
    for (Row row = 0; row < rows.count; ++row) {
      to.push_back(decode(rows[row], parent));
      set_home(to.back(), {index, row});
    }
  }

  template <typename Entry, typename Decode>
  void read_tables(Kind kind, Kind parent_kind, std::vector<Entry>& to, Decode decode) {
    for (const std::uint32_t index : sections_[kind]) {
      const auto parent = parent_of(dump_.elf_.section(index), parent_kind);
      if (parent) read_table(index, kind, *parent, to, decode);
    }
  }

  void read_roots() {
    for (const std::uint32_t index : sections_[Kind::devices]) {
      read_table(index, Kind::devices, 0, dump_.devices, [&](Bytes row, Row) { return decode_device(row, strings_); });
    }
    for (const std::uint32_t index : sections_[Kind::metadata]) {
      const Section section = dump_.elf_.section(index);
      if (section.size >= smallest_row(Kind::metadata)) {
        dump_.metadata = decode_metadata(dump_.elf_.contents(section));
      }
    }
  }

  // Ignores which module a cubin belongs to, because its addresses are the same in every module.
  void read_code() {
    for (const std::uint32_t index : sections_[Kind::code]) {
      const Section section = dump_.elf_.section(index);
      if (!dump_.elf_.whole(section)) dump_.budget_.damage();
      dump_.code.push_back(dump_.elf_.contents(section));
    }
  }

  Dump& dump_;
  Bytes strings_;
  std::map<Kind, std::vector<std::uint32_t>> sections_;
  std::unordered_map<std::uint32_t, Table> tables_;  // keyed by section index
};

std::optional<Dump> Dump::read(Bytes file) {
  const auto elf = ElfImage::read(file);
  if (!elf || elf->type() != elf::kCore) return std::nullopt;
  Dump dump(*elf, file.size());
  DumpReader(dump).read();
  return dump;
}

const Grid* Dump::grid(const Cta& cta) const {
  const auto found = grid_rows_.find({sm(cta).device, cta.grid});
  return found == grid_rows_.end() ? nullptr : &grids[found->second];
}

const Context* Dump::context(const Grid& grid) const {
  const auto found = std::find_if(contexts.begin(), contexts.end(), [&grid](const Context& context) {
    return context.device == grid.device && context.id == grid.context;
  });
  return found == contexts.end() ? nullptr : &*found;
}

std::optional<Section> Dump::child(Kind kind, Home parent) const {
  const Child first{parent.table, parent.row, static_cast<std::uint32_t>(kind), 0};
  const auto found = std::lower_bound(children_.begin(), children_.end(), first);
  if (found == children_.end() || !std::equal(first.begin(), first.begin() + 3, found->begin())) return std::nullopt;
  return elf_.section((*found)[3]);
}

std::vector<ReturnAddress> Dump::backtrace(const Lane& lane) const {
  constexpr std::uint64_t kDeepest = 64;  // deeper frames are usually a recursion
  std::vector<ReturnAddress> frames;
  const auto section = child(Kind::backtrace, lane.home);
  if (!section || section->entry_size < smallest_row(Kind::backtrace)) return frames;
  const Bytes bytes = elf_.contents(*section);
  const std::uint64_t count = std::min<std::uint64_t>(bytes.size() / section->entry_size, kDeepest);
  for (std::uint64_t i = 0; i < count; ++i) {
    frames.push_back(decode_return_address(bytes.slice(i * section->entry_size, section->entry_size)));
  }
  return frames;
}

std::vector<std::uint32_t> Dump::words(Kind kind, Home parent) const {
  constexpr std::uint64_t kMost = 256;
  std::vector<std::uint32_t> values;
  const auto section = child(kind, parent);
  if (!section) return values;
  const Bytes bytes = elf_.contents(*section);
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(bytes.size() / 4, kMost); ++i)
    values.push_back(bytes.u32(4 * i));
  return values;
}

std::optional<std::uint32_t> Dump::bits(Kind kind, Home parent) const {
  const std::vector<std::uint32_t> values = words(kind, parent);
  if (values.empty()) return std::nullopt;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 32); ++i) bits |= (values[i] != 0 ? 1u : 0u) << i;
  return bits;
}

std::vector<std::uint32_t> Dump::registers(const Lane& lane) const { return words(Kind::registers, lane.home); }

std::vector<std::uint32_t> Dump::uniform_registers(const Warp& warp) const {
  return words(Kind::uniform_registers, warp.home);
}

std::optional<std::uint32_t> Dump::predicates(const Lane& lane) const { return bits(Kind::predicates, lane.home); }

std::optional<std::uint32_t> Dump::uniform_predicates(const Warp& warp) const {
  return bits(Kind::uniform_predicates, warp.home);
}

Bytes Dump::parameters(const Grid& grid) const {
  constexpr std::uint64_t kMost = 64u << 10;
  const auto section = child(Kind::parameters, grid.home);
  return section ? elf_.contents(*section).slice(0, kMost) : Bytes();
}

}  // namespace cudadiag::evidence
