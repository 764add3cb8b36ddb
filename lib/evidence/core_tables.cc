#include "evidence/core_tables.h"

#include <algorithm>
#include <unordered_map>

namespace cudadiag::evidence {
namespace {

Dim3 dim3(Bytes row, std::uint64_t offset) { return {row.u32(offset), row.u32(offset + 4), row.u32(offset + 8)}; }

// Reads an address that is valid only if its flag is set.
std::optional<std::uint64_t> valid_address(Bytes row, std::uint64_t address, std::uint64_t flag) {
  if (row.u32(flag) == 0) return std::nullopt;
  return row.u64(address);
}

// ---- decoders of rows; fields past the end of a row are zero

// name u64 @0 (string), type u64 @8 (string), architecture u64 @16 (string), id u32 @24, PCI bus and device @28, SMs
// u32 @36, warps per SM @40, lanes per warp @44, registers @48, predicates @52, SM version @56, instruction size u32
// @64, status @68; r400: uniform registers and predicates @72; r575: convergence barriers @80
Device decode_device(Bytes row, Bytes strings) {
  return {.name = strings.text(row.u64(0)),
          .architecture = strings.text(row.u64(16)),
          .id = row.u32(24),
          .sms = row.u32(36),
          .instruction_bytes = row.u32(64)};
}

// id u64 @0, windows of shared, local and global memory @8, device u32 @32, host thread u32 @36
Context decode_context(Bytes row, Row device) {
  return {.device = device,
          .id = row.u64(0),
          .shared_window = row.u64(8),
          .local_window = row.u64(16),
          .host_thread = row.u32(36)};
}

// handle u64 @0
Module decode_module(Bytes row, Row context) { return {.context = context, .handle = row.u64(0)}; }

// id u64 @0, context u64 @8, function u64 @16, entry u64 @24, module u64 @32, parent grid @40, parameters @48,
// type @56, origin @60 (1: launched by a kernel), status, registers u32 @64, grid u32x3 @72, block u32x3 @84,
// blocking @96, host thread u32 @100;
// r525: cluster u32x3 @104; r565: preferred cluster @120
Grid decode_grid(Bytes row, Row device) {
  return {.device = device,
          .home = {},
          .id = row.u64(0),
          .context = row.u64(8),
          .entry = row.u64(24),
          .module = row.u64(32),
          .parameters = row.u64(48),
          .blocks = dim3(row, 72),
          .threads = dim3(row, 84),
          .clusters = dim3(row, 104),
          .host_thread = row.u32(100),
          .from_kernel = row.u32(60) == 1};
}

// id u32 @0; r555: exception u32 @8, PC valid u32 @12, PC u64 @16, target of a cluster exception @24;
// r580: text of the exception u64 @40 (string)
Sm decode_sm(Bytes row, Row device, Bytes strings) {
  return {.device = device,
          .id = row.u32(0),
          .exception = row.u32(8),
          .error_pc = valid_address(row, 16, 12),
          .exception_text = strings.text(row.u64(40))};
}

// grid u64 @0, block u32x3 @8; r525: cluster @24; r565: cluster's size @40
Cta decode_cta(Bytes row, Row sm) { return {.sm = sm, .grid = row.u64(0), .block = dim3(row, 8)}; }

// PC u64 @0, id u32 @8, valid lanes u32 @12, active lanes u32 @16, broken u32 @20, PC valid u32 @24; r525: registers
// @32; r570: shared memory u32 @40; r575: lanes in system calls and convergence masks @48
Warp decode_warp(Bytes row, Row cta) {
  return {.cta = cta,
          .home = {},
          .id = row.u32(8),
          .valid = row.u32(12),
          .active = row.u32(16),
          .broken = row.u32(20) != 0,
          .shared_bytes = row.u32(40),
          .error_pc = valid_address(row, 0, 24)};
}

// PC u64 @0, offset u64 @8, id u32 @16, thread u32x3 @20, exception u32 @32, call depth u32 @36; system call depth u32
// @40, condition codes @44; r575: convergence state @48
Lane decode_lane(Bytes row, Row warp) {
  return {.warp = warp,
          .home = {},
          .id = row.u32(16),
          .exception = row.u32(32),
          .call_depth = row.u32(36),
          .system_call_depth = row.u32(40),
          .thread = dim3(row, 20),
          .pc = row.u64(0),
          .offset = row.u64(8)};
}

// offset u64 @0, address u64 @8, level u32 @16
ReturnAddress decode_return_address(Bytes row) { return {.address = row.u64(8), .offset = row.u64(0)}; }

// generator u64 @0 (string), driver u32x2 @8, CUDA u32x2 @16, flags u32 @24, time u32 @28
Metadata decode_metadata(Bytes row) {
  return {
      .driver_major = row.u32(8), .driver_minor = row.u32(12), .cuda_major = row.u32(16), .cuda_minor = row.u32(20)};
}

// The smallest row size that any driver version writes. A table with smaller rows is invalid.
constexpr std::uint64_t smallest_row(Kind kind) {
  switch (kind) {
    case Kind::devices:
      return 72;
    case Kind::contexts:
      return 40;
    case Kind::modules:
    case Kind::sms:
      return 8;
    case Kind::grids:
      return 104;
    case Kind::ctas:
    case Kind::backtrace:
      return 24;
    case Kind::warps:
    case Kind::metadata:
      return 32;
    case Kind::lanes:
      return 48;
    case Kind::registers:
    case Kind::predicates:
    case Kind::uniform_registers:
    case Kind::uniform_predicates:
      return 4;
    case Kind::parameters:
    case Kind::code:
      return 1;
  }
  return 1;
}

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
    std::ranges::sort(dump_.children_);
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
  const auto found = std::ranges::find_if(contexts, [&grid](const Context& context) {
    return context.device == grid.device && context.id == grid.context;
  });
  return found == contexts.end() ? nullptr : &*found;
}

std::optional<Section> Dump::child(Kind kind, Home parent) const {
  const Child first{parent.table, parent.row, static_cast<std::uint32_t>(kind), 0};
  const auto found = std::ranges::lower_bound(children_, first);
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
