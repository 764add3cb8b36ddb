// Reads a GPU core dump as rows, each with a reference to its parent row. The rows describe devices, contexts, modules,
// grids, and the hardware hierarchy device > SM > CTA (block) > warp > lane.
//
// A dump is an ELF file whose section types identify the contents. A table is a section of rows with sh_entsize bytes
// each; newer drivers write longer rows. The parent of a table is row sh_info of the table in section sh_link.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/bytes.h"
#include "evidence/elf_image.h"

namespace cudadiag::evidence {

using Dim3 = std::array<std::uint32_t, 3>;

// Section types, as offsets from 0x80000000.
enum class Kind : std::uint32_t {
  registers = 5,
  code = 7,  // a relocated cubin
  backtrace = 8,
  devices = 9,
  contexts = 10,
  sms = 11,
  grids = 12,
  ctas = 13,
  warps = 14,
  lanes = 15,
  modules = 16,
  predicates = 17,
  parameters = 18,
  uniform_registers = 19,
  uniform_predicates = 20,
  metadata = 22,
};

using Row = std::uint32_t;  // index into one of the vectors of Dump

struct Device {
  std::string_view name, architecture;  // "NVIDIA H200", "sm_90"
  std::uint32_t id = 0, sms = 0, instruction_bytes = 0;
};

struct Context {
  Row device = 0;
  std::uint64_t id = 0;
  std::uint64_t shared_window = 0, local_window = 0;  // start addresses in the generic address space
  std::uint32_t host_thread = 0;
};

struct Module {
  Row context = 0;
  std::uint64_t handle = 0;
};

// The position of a row: the number of its table, and its index in that table. Sections that belong to the row contain
// these two numbers.
struct Home {
  std::uint32_t table = 0, row = 0;
};

struct Grid {
  Row device = 0;
  Home home;
  std::uint64_t id = 0, context = 0, entry = 0, module = 0;
  std::uint64_t parameters = 0;  // their offset in constant bank 0
  Dim3 blocks{}, threads{}, clusters{};
  std::uint32_t host_thread = 0;
  bool from_kernel = false;  // another kernel launched it
};

struct Sm {
  Row device = 0;
  std::uint32_t id = 0, exception = 0;
  std::optional<std::uint64_t> error_pc;
  std::string_view exception_text;  // may be empty; always empty before driver r580
};

struct Cta {
  Row sm = 0;
  std::uint64_t grid = 0;  // Grid::id
  Dim3 block{};
};

struct Warp {
  Row cta = 0;
  Home home;
  std::uint32_t id = 0, valid = 0, active = 0;  // `valid` and `active` have one bit per lane
  bool broken = false;                          // stopped by a trap or breakpoint
  std::uint32_t shared_bytes = 0;               // shared memory of its block, including what the system reserves; 0 if
                                                // unknown
  std::optional<std::uint64_t> error_pc;
};

struct Lane {
  Row warp = 0;
  Home home;
  std::uint32_t id = 0, exception = 0, call_depth = 0, system_call_depth = 0;
  Dim3 thread{};
  std::uint64_t pc = 0;      // a GPU address or, from older drivers, an address in a host copy of the code
  std::uint64_t offset = 0;  // offset of `pc` in its function
};

// Returns whether the lane's bit is set in a mask of its warp.
inline bool has_bit(std::uint32_t mask, std::uint32_t lane) { return lane < 32 && ((mask >> lane) & 1) != 0; }

// Returns a key that sorts blocks and threads as CUDA numbers them, with x varying fastest.
inline Dim3 linear(const Dim3& d) { return {d[2], d[1], d[0]}; }

struct ReturnAddress {
  std::uint64_t address = 0, offset = 0;
};

struct Metadata {
  std::uint32_t driver_major = 0, driver_minor = 0, cuda_major = 0, cuda_minor = 0;
};

class Dump {
 public:
  // `file` must outlive the dump.
  static std::optional<Dump> read(Bytes file);

  std::vector<Device> devices;
  std::vector<Context> contexts;
  std::vector<Module> modules;
  std::vector<Grid> grids;
  std::vector<Sm> sms;
  std::vector<Cta> ctas;
  std::vector<Warp> warps;
  std::vector<Lane> lanes;
  std::vector<Bytes> code;  // relocated cubins
  std::optional<Metadata> metadata;

  std::vector<ReturnAddress> backtrace(const Lane& lane) const;  // innermost caller first, at most 64
  std::vector<std::uint32_t> registers(const Lane& lane) const;
  std::vector<std::uint32_t> uniform_registers(const Warp& warp) const;
  // One bit per predicate, set if it is true; nullopt if the predicates are not in the dump.
  std::optional<std::uint32_t> predicates(const Lane& lane) const;
  std::optional<std::uint32_t> uniform_predicates(const Warp& warp) const;
  Bytes parameters(const Grid& grid) const;

  const Device& device(const Sm& sm) const { return devices[sm.device]; }
  const Sm& sm(const Cta& cta) const { return sms[cta.sm]; }
  const Cta& cta(const Warp& warp) const { return ctas[warp.cta]; }
  const Warp& warp(const Lane& lane) const { return warps[lane.warp]; }
  const Grid* grid(const Cta& cta) const;  // null if the dump does not contain the grid
  const Context* context(const Grid& grid) const;

  Budget& budget() { return budget_; }

 private:
  Dump(const ElfImage& elf, std::uint64_t size) : elf_(elf), budget_(size) {}
  std::optional<Section> child(Kind kind, Home parent) const;
  std::vector<std::uint32_t> words(Kind kind, Home parent) const;
  std::optional<std::uint32_t> bits(Kind kind, Home parent) const;
  friend class DumpReader;

  // A section that is not a table: parent table, parent row, kind, and section index. `children_` is sorted.
  using Child = std::array<std::uint32_t, 4>;

  ElfImage elf_;
  Budget budget_;
  std::map<std::pair<Row, std::uint64_t>, Row> grid_rows_;  // keyed by device and Grid::id
  std::vector<Child> children_;
};

}  // namespace cudadiag::evidence
