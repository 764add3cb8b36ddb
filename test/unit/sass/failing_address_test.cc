// Tests the computation of the address that a failing instruction accessed. The machine code is nvdisasm output
// (data/gpucore), or is written by hand in the same form.
#include "sass/failing_address.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iomanip>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace cudadiag::sass;

namespace {

constexpr ParameterBank kBank{0x210, 0x40};

std::string text_of(const std::string& name) {
  std::ifstream file(TEST_DATA "/sass/" + name + ".sm90.txt");
  std::string text(std::istreambuf_iterator<char>(file), {});
  REQUIRE_FALSE(text.empty());
  return text;
}

std::string code(const std::vector<std::string>& lines) {
  std::ostringstream text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text << "/*" << std::hex << std::setw(4) << std::setfill('0') << 16 * i << "*/ " << lines[i] << " ;\n";
  }
  return text.str();
}

// Packs the words into the bytes of a parameter buffer.
std::string bytes(const std::vector<std::uint32_t>& words) {
  std::string out;
  for (const std::uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(word >> shift & 0xff);
  }
  return out;
}

LaunchState launch(const std::vector<std::uint32_t>& words) {
  return {.parameters = bytes(words), .grid = std::array{3u, 1u, 1u}, .block = std::array{32u, 1u, 1u}};
}

// Builds a thread in which register N has the value 0xdead0000 + N, except for the given registers.
LaneState lane_at(std::uint32_t stands, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& registers = {}) {
  LaneState lane;
  lane.stands = stands;
  for (std::uint32_t i = 0; i < 64; ++i) lane.registers.push_back(0xdead0000 + i);
  for (const auto& [at, value] : registers) lane.registers[at] = value;
  lane.predicates = 0x80;
  lane.thread = {5, 0, 0};
  lane.block = {2, 0, 0};
  lane.lane = 5;
  return lane;
}

using Address = std::optional<std::uint64_t>;

// Code in which "!" marks the failing line, and "*" marks the line at which the thread stopped.
struct Marked {
  explicit Marked(std::vector<std::string> lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::uint32_t at = static_cast<std::uint32_t>(16 * i);
      if (lines[i].starts_with('!')) failing = at;
      if (lines[i].starts_with('*')) stands = at;
      if (lines[i].starts_with('!') || lines[i].starts_with('*')) lines[i].erase(0, 1);
    }
    text = code(lines);
  }
  Address address(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& registers,
                  const std::vector<std::uint32_t>& parameters = {0x1000, 0x7f00, 7, 0},
                  std::optional<std::uint32_t> predicates = {}) const {
    LaneState lane = lane_at(stands, registers);
    // If no registers are given, the address must be computed from the parameters alone.
    if (registers.empty()) lane.registers.clear();
    lane.predicates = predicates;
    return FailingAddress(text, kBank, failing, launch(parameters)).of(lane);
  }
  Base base() const { return FailingAddress(text, kBank, failing, {}).base(); }

  std::string text;
  std::uint32_t failing = 0, stands = 0;
};

}  // namespace

TEST_CASE("a load whose destination is half of its own address: 1 TiB past the parameter") {
  // The thread has stopped at the store that waits for the load. R4 still holds half of the address, R5 was overwritten
  // by the load, and R2 and R3 have new values.
  FailingAddress load(text_of("far_load"), {0x210, 8}, 0x70, launch({0x1fe00000, 0x7f21}));
  REQUIRE(load.known());
  CHECK(load.kind() == AccessKind::load);
  CHECK(load.space() == Space::global);
  CHECK(load.bytes() == 4);
  LaneState lane = lane_at(0x90, {{2, 0x1fe00000}, {3, 0x7f21}, {4, 0x1fe00014}, {5, 0}});
  CHECK(load.of(lane) == Address(0x7f211fe00014 + (std::uint64_t{1} << 40)));
  lane.thread = {31, 0, 0};
  lane.registers[4] = 0x1fe0007c;
  CHECK(load.of(lane) == Address(0x7f211fe0007c + (std::uint64_t{1} << 40)));
  const Base base = load.base();
  CHECK(base.known);
  CHECK(base.words == std::vector<std::uint32_t>{0});
  CHECK_FALSE(base.others);
  CHECK(load.unknown_opcodes() == 0);
}

TEST_CASE("a misaligned store: the registers as they are") {
  FailingAddress store(text_of("misaligned_store"), {0x210, 8}, 0x70, launch({0x37e00000, 0x7fb9}));
  CHECK(store.kind() == AccessKind::store);
  const LaneState lane = lane_at(0x80, {{2, 0x37e00000}, {3, 0x7fb9}, {5, 1}});
  CHECK(store.of(lane) == Address(0x7fb937e00001));
  CHECK(store.base().words == std::vector<std::uint32_t>{0});
}

TEST_CASE("shared memory: the overwritten uniform register is computed from the parameter") {
  FailingAddress store(text_of("shared_out_of_range"), {0x210, 12}, 0x90, launch({0x87e00000, 0x7fce, 1 << 20}));
  CHECK(store.space() == Space::shared);
  LaneState lane = lane_at(0xc0);
  lane.uniform_registers.assign(64, 0);
  lane.uniform_predicates = 0x80;
  CHECK(store.of(lane) == Address(0x400400));  // 1024 bytes for the system, plus 2^20 elements of 4 bytes
  SUBCASE("not if the block may be a different one of its cluster") {
    LaunchState clustered = launch({0x87e00000, 0x7fce, 1 << 20});
    clustered.clusters = true;
    CHECK_FALSE(FailingAddress(text_of("shared_out_of_range"), {0x210, 12}, 0x90, clustered).of(lane));
  }
  SUBCASE("not without the parameters") {
    CHECK_FALSE(FailingAddress(text_of("shared_out_of_range"), {0x210, 12}, 0x90, {}).of(lane));
  }
}

TEST_CASE("local memory, in a function that calls itself: the register is kept until the call") {
  FailingAddress store(text_of("overflow_stack"), {0x210, 8}, 0x1a0, launch({0x53f5e000, 0x7f54}));
  CHECK(store.space() == Space::local);
  // The next call begins at 0xb0. It saves R2 on the stack before it overwrites R2.
  CHECK_FALSE(store.of(lane_at(0xb0, {{1, 0xfff7e0}, {2, 0xfff7ec}})));
  CHECK(store.of(lane_at(0x1b0, {{1, 0xfff7e0}, {2, 0xfff7ec}})) == Address());
}

TEST_CASE("the code alone names the parameter of stores whose warps have exited") {
  CHECK(FailingAddress(text_of("far_store"), {0x210, 8}, 0x80, {}).base().words == std::vector<std::uint32_t>{0});
  CHECK(FailingAddress(text_of("fill"), {0x210, 12}, 0x60, {}).base().words == std::vector<std::uint32_t>{0});
}

TEST_CASE("a register counts if nothing has written it since") {
  const Marked kept({"MOV R9, R9", "!STG.E desc[UR4][R2.64+0x10], R5", "MOV R6, R7", "*EXIT"});
  CHECK(kept.address({{2, 0x40}, {3, 0x7f}}) == Address(0x7f00000050));
  const Marked written({"MOV R9, R9", "!STG.E desc[UR4][R2.64+0x10], R5", "MOV R2, R7", "*EXIT"});
  CHECK_FALSE(written.address({{2, 0x40}, {3, 0x7f}}));
  const Marked wide({"MOV R9, R9", "!STG.E desc[UR4][R2.64+0x10], R5", "LDC.64 R2, c[0x0][0x218]", "*EXIT"});
  CHECK_FALSE(wide.address({{2, 0x40}, {3, 0x7f}}));
  const Marked upper({"MOV R9, R9", "!STG.E desc[UR4][R2.64+0x10], R5", "IMAD.WIDE R2, R6, 0x4, R8", "*EXIT"});
  CHECK_FALSE(upper.address({{2, 0x40}, {3, 0x7f}}));
  const Marked unknown({"MOV R9, R9", "!STG.E desc[UR4][R2.64+0x10], R5", "NEWOP R1, R7", "*EXIT"});
  CHECK_FALSE(unknown.address({{2, 0x40}, {3, 0x7f}}));
}

TEST_CASE("a loop may have started another iteration") {
  const std::vector<std::string> lines{"MOV R9, R9",
                                       "!STG.E desc[UR4][R2.64], R5",
                                       "ISETP.GE.AND P0, PT, R6, R7, PT",
                                       "IADD3 R2, R2, 0x4, RZ",
                                       "@!P0 BRA 0x10",
                                       "EXIT"};
  std::vector<std::string> before = lines, after = lines;
  before[2].insert(0, "*");
  after[5].insert(0, "*");
  CHECK_FALSE(Marked(before).address({{2, 0x40}, {3, 0x7f}}));
  CHECK_FALSE(Marked(after).address({{2, 0x40}, {3, 0x7f}}));
}

TEST_CASE("no thread gets past an instruction that needs the failed load") {
  // The loop cannot have started again, because FADD needs R8 from the failed load.
  const std::vector<std::string> lines{"MOV R9, R9",
                                       "!LDG.E R8, desc[UR4][R2.64]",
                                       "MOV R10, R11",
                                       "*FADD R12, R8, R8",
                                       "IADD3 R2, R2, 0x4, RZ",
                                       "@!P0 BRA 0x10",
                                       "EXIT"};
  CHECK(Marked(lines).address({{2, 0x40}, {3, 0x7f}}) == Address(0x7f00000040));
  std::vector<std::string> without = lines;
  without[3] = "*FADD R12, R13, R13";
  CHECK_FALSE(Marked(without).address({{2, 0x40}, {3, 0x7f}}));
}

TEST_CASE("a load may overwrite the lower half of its address; the upper half shows whether it was low") {
  const Marked code({"LDG.E.64 R2, desc[UR4][R4.64]", "!LDG.E R2, desc[UR4][R2.64]", "*FADD R6, R2, R2", "EXIT"});
  const auto is_low = [&](std::uint32_t upper) {
    return FailingAddress(code.text, kBank, code.failing, launch({}))
        .is_low(lane_at(code.stands, {{2, 0}, {3, upper}}));
  };
  CHECK(is_low(0));
  CHECK_FALSE(is_low(0x7f00));
  const Marked both({"LDG.E.64 R2, desc[UR4][R4.64]", "!LDG.E.64 R2, desc[UR4][R2.64]", "*FADD R6, R2, R2", "EXIT"});
  CHECK_FALSE(FailingAddress(both.text, kBank, both.failing, launch({})).is_low(lane_at(both.stands, {{3, 0}})));
  CHECK(code.base().loaded);
}

TEST_CASE("the parameter that leads to the memory from which an address was loaded") {
  const Marked code({"LDC.64 R4, c[0x0][0x218]", "LDG.E.64 R2, desc[UR4][R4.64+0x8]", "LDG.E.64 R2, desc[UR4][R2.64]",
                     "!LDG.E R2, desc[UR4][R2.64]", "*EXIT"});
  const Base base = code.base();
  CHECK(base.words.empty());
  CHECK(base.loaded);
  CHECK(std::set<std::uint32_t>(base.through.begin(), base.through.end()) == std::set<std::uint32_t>{8});
  // The index comes from other memory than the table on one of two paths.
  const Marked index({"LDC.64 R4, c[0x0][0x210]", "LDG.E R6, desc[UR4][R4.64]", "@P0 BRA 0x40",
                      "LDG.E R6, desc[UR4][R8.64]", "IMAD.WIDE R2, R6, 0x4, R4", "!LDG.E R2, desc[UR4][R2.64]",
                      "*EXIT"});
  CHECK(index.base().known);
  CHECK(index.base().words == std::vector<std::uint32_t>{0});
}

TEST_CASE("the variable from whose address an address is computed") {
  const Marked code({"LDC.64 R2, c[0x4][0x8]", "LDG.E R6, desc[UR4][R4.64]", "IMAD.WIDE R2, R6, 0x4, R2",
                     "!LDG.E R6, desc[UR4][R2.64]", "*EXIT"});
  CHECK(code.base().words == std::vector<std::uint32_t>{kOfVariable | 8});
  LaunchState state = launch({});
  state.variables = bytes({1, 2, 0x1000, 0x7f00});
  const auto address = [&](const LaunchState& its) {
    FailingAddress failing(
        "/*0000*/ ULDC.64 UR6, c[0x4][0x8] ;\n/*0010*/ MOV R2, UR6 ;\n/*0020*/ MOV R3, UR7 ;\n"
        "/*0030*/ LDG.E R2, desc[UR4][R2.64+0x10] ;\n/*0040*/ EXIT ;\n",
        kBank, 0x30, its);
    return failing.of(lane_at(0x40, {{3, 0x7f00}}));  // the load has overwritten R2
  };
  CHECK(address(state) == Address{0x7f00'0000'1010});
  CHECK_FALSE(address(launch({})));

  const Marked table(
      {"LDC.64 R4, c[0x4][0x10]", "LDG.E.64 R2, desc[UR4][R4.64+0x8]", "!LDG.E R2, desc[UR4][R2.64]", "*EXIT"});
  CHECK(table.base().loaded);
  const std::vector<std::uint32_t> through = table.base().through;
  CHECK(std::ranges::count(through, kOfVariable | 0x10) > 0);
  CHECK(std::ranges::all_of(through, [](std::uint32_t word) { return word == (kOfVariable | 0x10); }));

  const Marked first({"LDC.64 R2, c[0x4][RZ]", "!LDG.E R2, desc[UR4][R2.64]", "*EXIT"});
  CHECK(first.base().words == std::vector<std::uint32_t>{kOfVariable});
  const Marked indexed({"LDC.64 R2, c[0x4][R6+0x8]", "!LDG.E R2, desc[UR4][R2.64]", "*EXIT"});
  CHECK(indexed.base().words.empty());
}

TEST_CASE("an address that is not only loaded may be in a window of shared memory") {
  const Marked mapped({"LDG.E R2, desc[UR4][R4.64]", "MAPA R3, R6, R7", "!LD.E R8, desc[UR4][R2.64]", "*EXIT"});
  CHECK(mapped.base().others);
  CHECK_FALSE(mapped.base().loaded);
}

TEST_CASE("a single later addition is undone") {
  const std::vector<std::string> lines{"IMAD R0, R6, R7, R8",
                                       "IMAD.WIDE R2, R0, 0x4, R10",
                                       "!LDG.E R2, desc[UR4][R2.64]",
                                       "IADD3 R0, R0, R16, RZ",
                                       "*FADD R12, R2, R2",
                                       "@!P0 BRA 0x10",
                                       "EXIT"};
  CHECK(Marked(lines).address({{0, 70}, {3, 0x7f}, {10, 0x1000}, {11, 0x7f}, {16, 60}}) == Address(0x7f00001028));
  std::vector<std::string> twice = lines;
  twice.insert(twice.begin() + 4, "IADD3 R0, R0, R16, RZ");
  CHECK_FALSE(Marked(twice).address({{0, 70}, {3, 0x7f}, {10, 0x1000}, {11, 0x7f}, {16, 60}}));
  std::vector<std::string> replaced = lines;
  replaced[3] = "IADD3 R0, R14, R16, RZ";
  CHECK_FALSE(Marked(replaced).address({{0, 70}, {3, 0x7f}, {10, 0x1000}, {11, 0x7f}, {16, 60}}));
}

TEST_CASE("sums of two words with carries") {
  const auto address = [](const std::vector<std::string>& made, const std::vector<std::uint32_t>& parameters) {
    std::vector<std::string> lines = made;
    lines.insert(lines.begin(), "S2R R6, SR_TID.X");
    for (const char* line : {"!LDG.E.64 R2, desc[UR4][R2.64]", "*DADD R8, R2, R2", "EXIT"}) lines.emplace_back(line);
    return Marked(lines).address({}, parameters);
  };
  const std::vector<std::uint32_t> edge{0xfffffff0, 0x7f00, 7, 0};
  SUBCASE("IADD3") {
    CHECK(address({"LEA R9, R6, RZ, 0x2", "IADD3 R2, P0, R9, c[0x0][0x210], RZ",
                   "IADD3.X R3, RZ, c[0x0][0x214], RZ, P0, !PT"},
                  edge) == Address(0x7f0100000004));
    CHECK(address({"LEA R9, R6, RZ, 0x2", "IADD3 R2, P0, R9, c[0x0][0x210], RZ", "MOV R4, R5",
                   "ISETP.NE.AND P0, PT, R5, R7, PT", "IADD3.X R3, RZ, c[0x0][0x214], RZ, P0, !PT"},
                  edge) == Address());
  }
  SUBCASE("LEA") {
    CHECK(address({"LEA R2, P0, R6, c[0x0][0x210], 0x2", "LEA.HI.X R3, R6, c[0x0][0x214], RZ, 0x2, P0"}, edge) ==
          Address(0x7f0100000004));
    CHECK(address({"IADD3 R7, R6, -0x6, RZ", "LEA R2, P0, R7, c[0x0][0x210], 0x2",
                   "LEA.HI.X.SX32 R3, R7, c[0x0][0x214], 0x2, P0"},
                  edge) == Address(0x7f00ffffffec));
  }
  SUBCASE("IMAD.WIDE") {
    CHECK(address({"LDC.64 R8, c[0x0][0x210]", "IMAD.WIDE.U32 R2, R6, 0x4, R8"}, edge) == Address(0x7f0100000004));
    CHECK(address({"LDC.64 R8, c[0x0][0x210]", "IMAD.WIDE R2, R6, -0x4, R8"}, edge) == Address(0x7f00ffffffdc));
    CHECK(address({"LDC.64 R8, c[0x0][0x210]", "IADD3 R7, R6, -0x6, RZ", "IMAD.WIDE R2, R7, 0x4, R8"}, edge) ==
          Address(0x7f00ffffffec));
    CHECK(address({"LDC.64 R8, c[0x0][0x210]", "IADD3 R7, R6, -0x6, RZ", "IMAD.WIDE.U32 R2, R7, 0x4, R8"}, edge) ==
          Address(0x7f04ffffffec));
  }
  SUBCASE("uniform registers, and a subtraction with its borrow") {
    CHECK(address({"ULDC.64 UR6, c[0x0][0x210]", "ULDC UR8, c[0x0][0x218]", "UIADD3 UR6, UP0, UR6, -UR8, URZ",
                   "UIADD3.X UR7, UR7, ~URZ, URZ, UP0, !UPT", "MOV R2, UR6", "MOV R3, UR7"},
                  {3, 0x7f00, 7, 0}) == Address(0x7efffffffffc));
  }
  SUBCASE("64 bits at once") {
    CHECK(address({"LDC.64 R8, c[0x0][0x210]", "MOV R7, RZ", "IADD.64 R2, R6, R8"}, edge) == Address(0x7f00fffffff5));
    CHECK(address({"LDC.64 R8, c[0x0][0x210]", "IADD.64 R2, R6, R8"}, edge) == Address());
  }
}

TEST_CASE("a value that a different path may have set is unknown") {
  const Marked one({"ISETP.GE.AND P1, PT, R12, R13, PT", "MOV R2, c[0x0][0x210]", "MOV R3, c[0x0][0x214]",
                    "@P1 BRA 0x40", "!LDG.E R2, desc[UR4][R2.64]", "*FADD R4, R2, R2", "EXIT"});
  CHECK(one.address({}) == Address(0x7f0000001000));
  const Marked two({"ISETP.GE.AND P1, PT, R12, R13, PT", "MOV R2, c[0x0][0x210]", "MOV R3, c[0x0][0x214]",
                    "@P1 BRA 0x50", "MOV R2, c[0x0][0x218]", "!LDG.E R2, desc[UR4][R2.64]", "*FADD R4, R2, R2",
                    "EXIT"});
  CHECK_FALSE(two.address({}));
}

TEST_CASE("a conditional definition counts if its condition is known") {
  const std::vector<std::string> lines{"MOV R2, c[0x0][0x210]",
                                       "MOV R3, c[0x0][0x214]",
                                       "ISETP.GE.AND P1, PT, R12, R13, PT",
                                       "@P1 MOV R2, c[0x0][0x218]",
                                       "!LDG.E R2, desc[UR4][R2.64]",
                                       "*FADD R4, R2, R2",
                                       "EXIT"};
  CHECK(Marked(lines).address({}, {0x1000, 0x7f00, 7, 0}, 0x82) == Address(0x7f0000000007));
  CHECK(Marked(lines).address({}, {0x1000, 0x7f00, 7, 0}, 0x80) == Address(0x7f0000001000));
  std::vector<std::string> decided = lines;
  decided[5] = "ISETP.NE.AND P1, PT, R14, RZ, PT";
  decided.insert(decided.begin() + 6, "*FADD R4, R2, R2");
  CHECK_FALSE(Marked(decided).address({}, {0x1000, 0x7f00, 7, 0}, 0x82));
  // The predicate of the failing instruction must have been true.
  decided[4] = "!@P1 LDG.E R2, desc[UR4][R2.64]";
  CHECK(Marked(decided).address({}, {0x1000, 0x7f00, 7, 0}, 0x80) == Address(0x7f0000000007));
  decided[4] = "!@!P1 LDG.E R2, desc[UR4][R2.64]";
  CHECK(Marked(decided).address({}, {0x1000, 0x7f00, 7, 0}, 0x82) == Address(0x7f0000001000));
}

TEST_CASE("values from memory, other threads and new opcodes are unknown") {
  for (const char* made :
       {"LDG.E R6, desc[UR4][R8.64]", "LDS R6, [R8]", "SHFL.IDX PT, R6, R7, R8, 0x1f", "NEWOP R6, R7",
        "VIADD.16x2 R6, RZ, 0x1", "LDC.U8 R6, c[0x3][0x218]", "LDC R6, c[0x3][0x0]", "LDL R6, [R1]"}) {
    CAPTURE(made);
    const Marked loaded({made, "LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R6, 0x4, R2", "!LDG.E R2, desc[UR4][R2.64]",
                         "MOV R6, RZ", "*FADD R4, R2, R2", "EXIT"});
    CHECK_FALSE(loaded.address({}));
  }
  // A byte of a parameter is known.
  const std::vector<std::string> byte{"LDC.U8 R6, c[0x0][0x219]",  "LDC.64 R2, c[0x0][0x210]",
                                      "IMAD.WIDE R2, R6, 0x4, R2", "!LDG.E R2, desc[UR4][R2.64]",
                                      "*FADD R4, R2, R2",          "EXIT"};
  CHECK(Marked(byte).address({}, {0x1000, 0x7f00, 0x305, 0}) == Address(0x7f000000100c));
  // The index is known if its register has not been overwritten.
  const Marked kept({"LDG.E R6, desc[UR4][R8.64]", "LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R6, 0x4, R2",
                     "!LDG.E R2, desc[UR4][R2.64]", "*FADD R4, R2, R2", "EXIT"});
  CHECK(kept.address({{3, 0x7f00}, {6, 3}}) == Address(0x7f000000100c));
}

TEST_CASE("an opcode that is not modelled is counted") {
  const Marked code({"NEWOP R2, R7", "!LDG.E R2, desc[UR4][R2.64]", "*FADD R4, R2, R2", "EXIT"});
  FailingAddress address(code.text, kBank, code.failing, launch({}));
  CHECK_FALSE(address.of(lane_at(code.stands)));
  CHECK(address.unknown_opcodes() == 1);
}

TEST_CASE("thread and block indices, their sizes, and constants") {
  const Marked code({"S2R R6, SR_CTAID.X", "S2R R7, SR_TID.X", "IMAD R6, R6, c[0x0][0x0], R7",
                     "HFMA2.MMA R8, -RZ, RZ, 0, 2.384185791015625e-07", "IMAD R6, R6, R8, c[0x0][0xc]",
                     "LOP3.LUT R6, R6, 0xfffffffc, RZ, 0xc0, !PT", "SHF.R.U32.HI R6, RZ, 0x1, R6",
                     "LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R6, 0x1, R2", "!LDG.E R2, desc[UR4][R2.64]",
                     "*FADD R4, R2, R2", "EXIT"});
  // the index: (((2 * 32 + 5) * 4 + 3) & ~3) / 2 = 276 / 2 = 138
  CHECK(code.address({}) == Address(0x7f000000108a));
}

TEST_CASE("uniform registers count if all threads of the warp are at one place") {
  const Marked code({"MOV R9, R9", "!STG.E desc[UR4][R2.U32+UR6+0x8], R5", "*EXIT"});
  LaneState lane = lane_at(code.stands, {{2, 0x100}});
  FailingAddress address(code.text, kBank, code.failing, launch({}));
  CHECK_FALSE(address.of(lane));
  lane.uniform_registers.assign(64, 0);
  lane.uniform_registers[6] = 0x7fffff00;
  CHECK(address.of(lane) == Address(0x80000008));
  lane.uniform_registers[7] = 0x7f;  // UR6 and UR7 may not form a 64-bit number
  CHECK_FALSE(address.of(lane));
  const Marked sure({"ULDC.64 UR6, c[0x0][0x210]", "!STG.E desc[UR4][R2.U32+UR6+0x8], R5", "*EXIT"});
  CHECK(sure.address({{2, 0x100}}) == Address(0x7f0000001108));
}

TEST_CASE("the forms of operands") {
  const auto of = [](const std::string& instruction, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& set) {
    return Marked({"MOV R9, R9", "!" + instruction, "*EXIT"}).address(set);
  };
  CHECK(of("STS [R3+0x400], R5", {{3, 0x100}}) == Address(0x500));
  CHECK(of("STS.128 [R3.X4+0x10], R8", {{3, 0x100}}) == Address(0x410));
  CHECK(of("STL [R1+-0x4], R5", {{1, 0xfffc60}}) == Address(0xfffc5c));
  CHECK(of("STG.E [R2.64+-0x10], R5", {{2, 8}, {3, 1}}) == Address(0xfffffff8));
  CHECK(of("ST.E.U8 desc[UR4][R2.64], R5", {{2, 8}, {3, 1}}) == Address(0x100000008));
  CHECK(of("REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R5", {{2, 8}, {3, 1}}) == Address(0x100000008));
  CHECK(of("LDGSTS.E.BYPASS.128 [R7], desc[UR4][R2.64]", {{2, 8}, {3, 1}, {7, 3}}) == Address(0x100000008));
  CHECK(of("STG.E desc[UR4][RZ.64+0x10], R5", {}) == Address(0x10));
  CHECK_FALSE(of("STG.E desc[UR4][R2.NEW+0x10], R5", {{2, 8}, {3, 1}}));
  CHECK_FALSE(of("UTMALDG.2D [UR8], [UR6]", {}));
}

TEST_CASE("the kind of an access, and its bytes") {
  const auto of = [](const std::string& instruction) {
    return FailingAddress(code({instruction, "EXIT"}), kBank, 0, {});
  };
  CHECK(of("LDG.E.128.CONSTANT R4, desc[UR4][R2.64]").bytes() == 16);
  CHECK(of("LDG.E.U8 R4, desc[UR4][R2.64]").bytes() == 1);
  CHECK(of("LDG.E.LTC128B R4, desc[UR4][R2.64]").bytes() == 4);
  CHECK(of("ATOMG.E.ADD.F64.RN PT, R4, desc[UR4][R2.64], R6").bytes() == 8);
  CHECK(of("ATOMG.E.ADD PT, R4, desc[UR4][R2.64], R6").kind() == AccessKind::atomic);
  CHECK(of("LDGSTS.E [R7], desc[UR4][R2.64]").kind() == AccessKind::copy);
  CHECK(of("UBLKCP.S.G [UR8], [UR4], UR10").bytes() == 0);
  CHECK(of("LD.E R4, [R2.64]").space() == Space::generic);
  CHECK_FALSE(of("IADD3 R4, R2, R3, RZ").known());
  CHECK_FALSE(FailingAddress("", kBank, 0, {}).known());
}

TEST_CASE("the parameter from which an address is computed") {
  const std::vector<std::string> tail{"IMAD.WIDE R2, R6, 0x4, R2", "!STG.E desc[UR4][R2.64], R5", "*EXIT"};
  const auto base = [&](std::vector<std::string> lines) {
    lines.insert(lines.begin(), "S2R R6, SR_TID.X");
    lines.insert(lines.end(), tail.begin(), tail.end());
    return Marked(lines).base();
  };
  using Words = std::vector<std::uint32_t>;
  CHECK(base({"LDC.64 R2, c[0x0][0x218]"}).words == Words{8});
  SUBCASE("a pointer that a loop advances stays that parameter") {
    CHECK(base({"LDC.64 R2, c[0x0][0x218]", "IADD3 R2, P0, R2, 0x10, RZ", "IADD3.X R3, RZ, R3, RZ, P0, !PT",
                "@P1 BRA 0x20"})
              .words == Words{8});
  }
  SUBCASE("one of two pointers is not a parameter") {
    const Base chosen = base({"LDC.64 R2, c[0x0][0x218]", "@P1 LDC.64 R2, c[0x0][0x220]"});
    CHECK_FALSE(chosen.known);
  }
  SUBCASE("a pointer from memory is not a parameter") {
    const Base loaded = base({"LDC.64 R8, c[0x0][0x218]", "LDG.E.64 R2, desc[UR4][R8.64]"});
    CHECK(loaded.words.empty());
    CHECK(loaded.others);
  }
  SUBCASE("a parameter that counts elements is multiplied, so it is not the one") {
    CHECK(base({"LDC.64 R2, c[0x0][0x218]", "LDC R6, c[0x0][0x220]"}).words == Words{8});
  }
  SUBCASE("an offset in bytes is also a word of the sum") {
    CHECK(base({"LDC.64 R2, c[0x0][0x218]", "IADD3 R2, P0, R2, c[0x0][0x220], RZ",
                "IADD3.X R3, R3, c[0x0][0x224], RZ, P0, !PT"})
              .words == Words{8, 16});
  }
  SUBCASE("a pointer that is a constant of the code is another value of the sum") {
    const std::string low = "IADD3 R2, P0, R2, 0x1fe00000, RZ";
    CHECK(base({"LDC.64 R2, c[0x0][0x218]", low, "IADD3.X R3, R3, 0x8021, RZ, P0, !PT"}).others);
    CHECK_FALSE(base({"LDC.64 R2, c[0x0][0x218]", low, "IADD3.X R3, R3, -0x1, RZ, P0, !PT"}).others);
    CHECK_FALSE(base({"LDC.64 R2, c[0x0][0x218]", low, "IADD3.X R3, R3, 0xffffffff, RZ, P0, !PT"}).others);
    CHECK_FALSE(base({"LDC.64 R2, c[0x0][0x218]", low, "IADD3.X R3, R3, 0x400, RZ, P0, !PT"}).others);
  }
  SUBCASE("the halves of two pointers are not a parameter") {
    const Base halves = base({"MOV R2, c[0x0][0x218]", "MOV R3, c[0x0][0x224]"});
    CHECK(halves.words.empty());
  }
}
