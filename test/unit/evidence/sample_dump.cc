#include "unit/evidence/sample_dump.h"

namespace cudadiag::evidence {
namespace {

constexpr std::uint32_t kKind = 0x80000000;
constexpr std::uint8_t kFunction = 0x12, kLocalFunction = 0x02;  // the symbols' ELF type and binding: a global and a
                                                                 // local function
constexpr std::uint8_t kKernel = 0x10;

std::string zeros(std::size_t size) { return std::string(size, '\0'); }

std::string symbol(std::uint32_t name, std::uint8_t info, std::uint8_t other, std::uint16_t section,
                   std::uint64_t value, std::uint64_t size) {
  return RowBuilder(24).u32(0, name).u8(4, info).u8(5, other).u16(6, section).u64(8, value).u64(16, size);
}

std::string grid_row(std::size_t size) {
  return RowBuilder(size)
      .u64(0, 7)
      .u64(8, 0xc0)
      .u64(24, kKernelAddress)
      .u64(32, 0xa0)
      .u32(72, 2)
      .u32(76, 1)
      .u32(80, 1)
      .u32(84, 2)
      .u32(88, 1)
      .u32(92, 1)
      .u32(100, 4711);
}

std::string lane_row(std::size_t size, std::uint32_t lane, std::uint32_t exception) {
  return RowBuilder(size)
      .u64(0, kDeepAddress + 0x20)
      .u64(8, 0x20)
      .u32(16, lane)
      .u32(20, lane)
      .u32(32, exception)
      .u32(36, 1);
}

// Joins the texts into an ELF string table, which starts with an empty text. Each text is NUL-terminated.
std::string string_table(std::initializer_list<const char*> texts) {
  std::string table(1, '\0');
  for (const char* text : texts) table += std::string(text) + '\0';
  return table;
}

const std::string kStrings = string_table({"GPU", "sm_90", "too far"});
const std::string kSymbolNames = string_table({"_Z6kernelPi", "$_Z6kernelPi$_Z4deepPi", "_Z5otherPi"});
// The offsets of inlined function names are relative to kNamesBase. Names before kNamesBase belong to another unit.
const std::string kInlinedNames = string_table({"another unit's", "_Z4leafPi", "_Z3midPi"});
const std::size_t kNamesBase = kInlinedNames.find("_Z4leafPi");

// Encodes a number between -64 and 63 as one byte (LEB128).
std::string small(int number) { return std::string(1, static_cast<char>(number & 0x7f)); }

// Writes a DWARF line program, one operation at a time.
class LineProgram {
 public:
  LineProgram& address(std::uint64_t value) { return extended("\x02" + std::string(RowBuilder(8).u64(0, value))); }
  LineProgram& advance(int bytes) { return add(std::string(1, '\x02') + small(bytes)); }
  LineProgram& row(int file, int line_distance) {
    return add('\x04' + small(file) + '\x03' + small(line_distance) + '\x01');
  }
  LineProgram& inlined(int context, std::size_t name) {
    return extended('\x90' + small(context) + small(static_cast<int>(name)));
  }
  LineProgram& end() { return extended("\x01"); }
  std::size_t size() const { return bytes_.size(); }
  operator std::string() const { return bytes_; }

 private:
  LineProgram& extended(const std::string& operation) {
    return add(std::string(1, '\0') + small(static_cast<int>(operation.size())) + operation);
  }
  LineProgram& add(const std::string& bytes) {
    bytes_ += bytes;
    return *this;
  }
  std::string bytes_;
};

std::uint32_t type(std::uint32_t kind) { return kKind + kind; }

// Adds the state of one multiprocessor: a block, a warp, two lanes, and the stack and registers of one lane.
void add_threads(ElfBuilder& dump, const RowSizes& sizes) {
  using S = SampleSections;
  const std::string sm =
      RowBuilder(sizes.sm).u32(0, 1).u32(8, 14).u32(12, 1).u64(16, kErrorPc).u64(40, kStrings.find("too far"));
  dump.add({.name = ".cudbg.smtbl",
            .type = type(11),
            .data = zeros(sizes.sm) + sm,
            .entry_size = sizes.sm,
            .link = S::devices});
  dump.add({.name = ".cudbg.ctatbl",
            .type = type(13),
            .data = RowBuilder(sizes.cta).u64(0, 7).u32(8, 1),
            .entry_size = sizes.cta,
            .link = S::sms,
            .info = 1});
  dump.add({.name = ".cudbg.wptbl",
            .type = type(14),
            .data = RowBuilder(sizes.warp).u64(0, kErrorPc).u32(8, 3).u32(12, 3).u32(16, 3).u32(24, 1),
            .entry_size = sizes.warp,
            .link = S::ctas});
  dump.add({.name = ".cudbg.lntbl",
            .type = type(15),
            .data = lane_row(sizes.lane, 0, 0) + lane_row(sizes.lane, 1, 14),
            .entry_size = sizes.lane,
            .link = S::warps});
  dump.add({.name = ".cudbg.bt",
            .type = type(8),
            .data = RowBuilder(sizes.frame).u64(0, 0x40).u64(8, kKernelAddress + 0x40),
            .entry_size = sizes.frame,
            .link = S::lanes,
            .info = 1});
  dump.add({.name = ".cudbg.regs",
            .type = type(5),
            .data = RowBuilder(8).u32(0, 0x11).u32(4, 0x22),
            .entry_size = 4,
            .link = S::lanes,
            .info = 1});
}

}  // namespace

ElfBuilder sample_dump(const RowSizes& sizes) {
  using S = SampleSections;
  ElfBuilder dump(4);
  dump.add(
      {.name = ".cudbg.devtbl",
       .type = type(9),
       .data =
           RowBuilder(sizes.device).u64(0, kStrings.find("GPU")).u64(16, kStrings.find("sm_90")).u32(36, 2).u32(64, 16),
       .entry_size = sizes.device});
  dump.add({.name = ".cudbg.ctxtbl",
            .type = type(10),
            .data = RowBuilder(sizes.context).u64(0, 0xc0).u32(36, 4711),
            .entry_size = sizes.context,
            .link = S::devices});
  dump.add({.name = ".cudbg.modtbl",
            .type = type(16),
            .data = RowBuilder(sizes.module).u64(0, 0xa0),
            .entry_size = sizes.module,
            .link = S::contexts});
  dump.add({.name = ".cudbg.relfimg", .type = type(7), .data = sample_cubin(), .link = S::modules});
  dump.add({.name = ".cudbg.gridtbl",
            .type = type(12),
            .data = grid_row(sizes.grid),
            .entry_size = sizes.grid,
            .link = S::devices});
  add_threads(dump, sizes);
  dump.add({.name = ".cudbg.meta", .type = type(22), .data = RowBuilder(32).u32(8, 580).u32(12, 65).u32(16, 13)});
  dump.add({.name = ".strtab", .type = 3, .data = kStrings});
  return dump;
}

std::string sample_cubin(std::size_t times) {
  const auto name = [](const char* text) { return static_cast<std::uint32_t>(kSymbolNames.find(text)); };
  ElfBuilder cubin(2);
  cubin.add({.name = ".text.kernel", .type = 1, .data = zeros(0x100)});
  cubin.add({.name = ".text.other", .type = 1, .data = zeros(0x100)});
  cubin.add({.name = ".symtab",
             .type = 2,
             .data = zeros(24) + symbol(name("_Z6kernelPi"), kFunction, kKernel, 1, kKernelAddress, 0x100) +
                     symbol(name("$_Z6kernelPi$"), kLocalFunction, 0, 1, kDeepAddress, 0x40) +
                     symbol(name("_Z5otherPi"), kFunction, kKernel, 2, 0, 0x100),
             .entry_size = 24,
             .link = 4});
  cubin.add({.name = ".strtab", .type = 3, .data = kSymbolNames});
  std::string lines;
  for (std::size_t i = 0; i < times; ++i) lines += sample_lines();
  cubin.add({.name = ".debug_line", .type = 1, .data = lines});
  cubin.add({.name = ".debug_str", .type = 1, .data = kInlinedNames});
  return cubin.bytes();
}

// Rows of a kernel that is not loaded come first. A reader that counts rows from the start of the table would find the
// wrong lines.
std::string sample_lines() {
  const auto name = [](const char* text) { return kInlinedNames.find(text) - kNamesBase; };
  LineProgram program;
  program.address(0).row(1, 4).advance(0x20).row(1, 1).end();
  program.address(kKernelAddress).row(1, 9);          // row 1: line 10 of the kernel
  program.advance(0x3f).row(1, 2);                    // row 2: line 12, the call of deep()
  program.advance(1).row(1, 1);                       // row 3: line 13, after the call
  program.advance(0x20).advance(0x20).row(1, 7);      // row 4: line 20 of deep()
  program.advance(0x10).row(1, 1);                    // row 5: line 21, into which mid() was inlined
  program.inlined(5, name("_Z3midPi")).row(1, 9);     // row 6: line 30 of mid(), into which leaf() was inlined
  program.inlined(6, name("_Z4leafPi")).row(2, -27);  // row 7: line 3 of leaf()
  program.inlined(0, 0).advance(0x10).row(1, 19);     // row 8: line 22 of deep()
  program.advance(0x30).advance(0x30).end();
  const std::string header = std::string("\x01\x01\xfb\x0e\x0a\x00\x01\x01\x01\x01\x00\x00\x00\x01", 14) +
                             std::string("/src\0\0", 6) + std::string("a.cu\0\x01\0\0", 8) +
                             std::string("b.cuh\0\x01\0\0\0", 10) +
                             std::string(RowBuilder(4).u32(0, static_cast<std::uint32_t>(kNamesBase)));
  return std::string(RowBuilder(10)
                         .u32(0, static_cast<std::uint32_t>(6 + header.size() + program.size()))
                         .u16(4, 2)
                         .u32(6, static_cast<std::uint32_t>(header.size()))) +
         header + std::string(program);
}

}  // namespace cudadiag::evidence
