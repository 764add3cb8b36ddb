// Tests hand-built dumps: with the row sizes of other drivers, with sections in a different order, and with invalid
// content.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "evidence/core_facts.h"
#include "unit/evidence/sample_dump.h"

using namespace cudadiag::evidence;

namespace {

using S = SampleSections;

std::optional<CoreFacts> examined(const std::string& file) { return examine(Bytes(file.data(), file.size())); }

CoreFacts facts_of(const ElfBuilder& dump) {
  auto facts = examined(dump.bytes());
  REQUIRE(facts);
  return std::move(*facts);
}

// Checks the failure of the sample dump. `sm_knows`: the SM's row contains the failure and its message, which old
// drivers do not write.
void check_failure(const CoreFacts& facts, bool sm_knows) {
  CHECK(facts.damaged == 0);
  CHECK(facts.failed_sms.size() == (sm_knows ? 1 : 0));
  REQUIRE(facts.failure);
  const DumpedFailure& f = *facts.failure;
  CHECK(f.exception == 14);
  CHECK(f.message == (sm_knows ? "too far" : ""));
  CHECK(f.kernel == "_Z6kernelPi");
  CHECK(f.grid == Dim3{2, 1, 1});
  CHECK(f.block_dim == Dim3{2, 1, 1});
  CHECK(f.grid_id == 7);
  CHECK(f.host_thread == 4711);
  CHECK(f.block == Dim3{1, 0, 0});
  CHECK(f.thread == Dim3{1, 0, 0});
  CHECK(f.threads == 1);
  CHECK(f.warp == 3);
  CHECK(f.lane == 1);
  CHECK(f.registers == std::vector<std::uint32_t>{0x11, 0x22});
  CHECK(f.witness == PcWitness::warp);
  CHECK(f.place.pc == kErrorPc);
  CHECK(f.place.function == "_Z4deepPi");
  CHECK(f.place.offset == 0x10);
  REQUIRE(f.place.lines.size() == 3);
  CHECK(f.place.lines[0].function == "_Z4leafPi");
  CHECK(f.place.lines[0].file == "/src/b.cuh");
  CHECK(f.place.lines[0].line == 3);
  CHECK(f.place.lines[1].function == "_Z3midPi");
  CHECK(f.place.lines[1].line == 30);
  CHECK(f.place.lines[2].function == "_Z4deepPi");
  CHECK(f.place.lines[2].line == 21);
  REQUIRE(f.stands);
  CHECK(f.stands->lines.at(0).line == 22);
  REQUIRE(f.callers.size() == 1);
  CHECK(f.callers[0].function == "_Z6kernelPi");
  CHECK(f.callers[0].lines.at(0).line == 12);
}

void check_no_threads(const CoreFacts& facts) {
  REQUIRE(facts.failure);
  CHECK(facts.failure->witness == PcWitness::sm);
  CHECK(facts.failure->kernel == "_Z6kernelPi");
  CHECK_FALSE(facts.failure->block);
  CHECK_FALSE(facts.failure->threads);
  CHECK_FALSE(facts.failure->grid);
}

}  // namespace

TEST_CASE("rows of this driver, of the oldest one and of future ones") {
  check_failure(facts_of(sample_dump()), true);
  check_failure(facts_of(sample_dump(kOldestRows)), false);
  check_failure(facts_of(sample_dump(kFutureRows)), true);
}

TEST_CASE("tables in any order") { check_failure(facts_of(sample_dump().reversed()), true); }

TEST_CASE("a count of sections that does not fit the file header") {
  std::string file = sample_dump().bytes();
  const std::uint64_t headers = Bytes(file.data(), file.size()).u64(40);
  const std::uint16_t count = Bytes(file.data(), file.size()).u16(60);
  const std::string large = RowBuilder(24).u64(0, count).u32(8, 0).u32(8, count - 1u);
  file.replace(headers + 32, 12, large, 0, 12);
  file.replace(60, 4, std::string("\0\0\xff\xff", 4));
  const auto facts = examined(file);
  REQUIRE(facts);
  check_failure(*facts, true);
}

TEST_CASE("files that are not GPU dumps") {
  const std::string good = sample_dump().bytes();
  CHECK_FALSE(examined(""));
  CHECK_FALSE(examined(good.substr(0, 63)));
  for (const std::size_t offset : {0, 4, 5, 16, 18}) {
    std::string other = good;
    other[offset] = static_cast<char>(other[offset] ^ 0x40);
    CAPTURE(offset);
    CHECK_FALSE(examined(other));
  }
}

TEST_CASE("the PC comes from the warp, then from the SM, then from the thread") {
  ElfBuilder dump = sample_dump();
  dump.part(S::warps).data = RowBuilder(64).u64(0, 1).u32(8, 3).u32(12, 3).u32(16, 3);
  CHECK(facts_of(dump).failure->witness == PcWitness::sm);
  CHECK(facts_of(dump).failure->place.pc == kErrorPc);

  dump.part(S::sms).data = RowBuilder(96).u32(48, 1).u32(56, 14).u64(64, kErrorPc);
  CHECK(facts_of(dump).failure->witness == PcWitness::thread);
  CHECK(facts_of(dump).failure->place.pc == kDeepAddress + 0x20);

  // The PC is a host address, as in dumps of older drivers. The offset is then relative to the kernel, unless the
  // kernel had called a function.
  std::string& lanes = dump.part(S::lanes).data;
  lanes = RowBuilder(112).u64(56, 0x5600001234).u64(64, 0x20).u32(72, 1).u32(76, 1).u32(88, 14);
  CHECK(facts_of(dump).failure->place.pc == kKernelAddress + 0x20);
  lanes.replace(92, 1, 1, '\1');
  CHECK_FALSE(facts_of(dump).failure->witness);
  CHECK(facts_of(dump).failure->kernel == "_Z6kernelPi");
}

TEST_CASE("a thread after its call of the assertion handler failed at the call") {
  ElfBuilder dump = sample_dump();
  dump.part(S::sms).data = RowBuilder(96).u32(48, 1).u32(56, 12);
  dump.part(S::warps).data = RowBuilder(64).u32(8, 3).u32(12, 3).u32(16, 3);
  dump.part(S::lanes).data =
      RowBuilder(112).u64(56, kKernelAddress + 0x40).u64(64, 0x40).u32(72, 1).u32(76, 1).u32(88, 12);
  const CoreFacts facts = facts_of(dump);
  const CodePlace& place = facts.failure->place;
  CHECK(place.pc == kKernelAddress + 0x40);
  CHECK(place.offset == 0x40);
  REQUIRE(place.lines.size() == 1);
  CHECK(place.lines[0].line == 12);
}

TEST_CASE("the first thread is that of the lowest block, whichever SM it ran on") {
  ElfBuilder dump = sample_dump();
  dump.part(S::lanes).data = dump.part(S::lanes).data.substr(56, 56);
  const std::uint32_t ctas = dump.add({.name = "cta",
                                       .type = 0x8000000d,
                                       .data = RowBuilder(56).u64(0, 7),
                                       .entry_size = 56,
                                       .link = S::sms,
                                       .info = 0});
  const std::uint32_t warps =
      dump.add({.name = "warp", .type = 0x8000000e, .data = RowBuilder(64).u32(12, 3), .entry_size = 64, .link = ctas});
  const std::string lane = RowBuilder(56).u32(16, 0).u32(20, 0).u32(32, 14);
  const std::string never = RowBuilder(56).u32(16, 2).u32(20, 2).u32(32, 14);  // this lane is not in the warp's mask of
                                                                               // valid lanes
  dump.add({.name = "lane", .type = 0x8000000f, .data = lane + never, .entry_size = 56, .link = warps});
  const CoreFacts facts = facts_of(dump);
  CHECK(facts.failure->block == Dim3{0, 0, 0});
  CHECK(facts.failure->thread == Dim3{0, 0, 0});
  CHECK(facts.failure->threads == 2);
  CHECK(facts.failure->blocks == 2);
}

TEST_CASE("a requested dump has no failure") {
  ElfBuilder dump = sample_dump();
  dump.part(S::sms).data = std::string(96, '\0');
  dump.part(S::lanes).data = std::string(112, '\0');
  const CoreFacts facts = facts_of(dump);
  CHECK_FALSE(facts.failure);
  CHECK(facts.damaged == 0);
}

TEST_CASE("a table with an impossible parent is ignored with everything below it, and counted") {
  const auto with = [](auto change) {
    ElfBuilder dump = sample_dump();
    change(dump);
    return facts_of(dump);
  };
  const auto link = [&with](std::uint32_t section, std::uint32_t to, std::uint32_t row) {
    return with([&](ElfBuilder& dump) {
      dump.part(section).link = to;
      dump.part(section).info = row;
    });
  };
  // A bad link makes three tables unreadable: the CTAs, the warps in them, and the lanes in those warps.
  for (const CoreFacts& facts :
       {link(S::ctas, S::ctas, 0), link(S::ctas, S::lanes, 0), link(S::ctas, S::warps, 0), link(S::ctas, S::devices, 0),
        link(S::ctas, S::sms, 2), link(S::ctas, S::sms, 0xffffffff), link(S::ctas, 0, 0),
        link(S::ctas, 0xffffffff, 0)}) {
    CHECK(facts.damaged == 3);
    check_no_threads(facts);
  }
  CHECK(link(S::sms, S::sms, 0).damaged == 4);
  CHECK_FALSE(link(S::sms, S::sms, 0).failure);
}

TEST_CASE("rows of impossible sizes") {
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{47}, std::uint64_t{113}, ~std::uint64_t{0}}) {
    ElfBuilder dump = sample_dump();
    dump.part(S::lanes).entry_size = size;
    CAPTURE(size);
    const CoreFacts facts = facts_of(dump);
    CHECK(facts.damaged == 1);
    check_no_threads(facts);
  }
}

TEST_CASE("sections that share their bytes are read no more often than separate ones of that total size") {
  ElfBuilder dump = sample_dump();
  std::string file = dump.bytes();
  const std::uint64_t headers = Bytes(file.data(), file.size()).u64(40);
  const std::uint64_t rows = Bytes(file.data(), file.size()).u64(headers + S::lanes * 64 + 24);
  // Adds 2,000 lane tables that all share the same bytes.
  for (int i = 0; i < 2000; ++i) {
    file += RowBuilder(64).u32(4, 0x8000000f).u64(24, rows).u64(32, 112).u32(40, S::warps).u64(56, 56);
  }
  const auto count = static_cast<std::uint16_t>((file.size() - headers) / 64);
  file.replace(60, 2, std::string(RowBuilder(2).u16(0, count)));
  const auto facts = examined(file);
  REQUIRE(facts);
  REQUIRE(facts->failure);
  CHECK(facts->failure->threads < 2000);
  CHECK(facts->damaged > 500);
}

TEST_CASE("a dump truncated anywhere gives what it contains") {
  const std::string file = sample_dump().bytes();
  std::size_t answered = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto facts = examined(file.substr(0, size));
    CHECK(facts.has_value() == (size >= 64));
    if (!facts) continue;
    CHECK(facts->damaged > 0);
    answered += facts->failure ? 1 : 0;
  }
  // The section headers are at the end of the file. The tables' headers come before the header of the section names, so
  // a slightly truncated file still has them.
  CHECK(answered > 64);
}

TEST_CASE("a dump that ends in zeros is damaged, and not a requested dump") {
  const std::string file = sample_dump().bytes();
  const std::uint64_t headers = Bytes(file.data(), file.size()).u64(40);
  for (std::uint64_t from = headers; from < file.size(); from += 64) {
    std::string holed = file;
    holed.replace(from, file.size() - from, file.size() - from, '\0');
    CAPTURE(from);
    CHECK(examined(holed)->damaged > 0);
  }
}

TEST_CASE("a dump without devices or SMs is not complete") {
  for (const std::uint32_t section : {S::devices, S::sms}) {
    ElfBuilder dump = sample_dump();
    dump.part(section).type = 1;
    const CoreFacts facts = facts_of(dump);
    CHECK_FALSE(facts.failure);
    CHECK(facts.damaged > 0);
  }
  CHECK(facts_of(ElfBuilder(4)).damaged == 2);
}

TEST_CASE("a dump with any bit flipped is answered or declined") {
  const std::string file = sample_dump().bytes();
  std::mt19937 random(4711);
  for (int i = 0; i < 20'000; ++i) {
    std::string other = file;
    for (int flips = 0; flips < 4; ++flips) other[random() % other.size()] = static_cast<char>(random());
    examined(other);
  }
}

TEST_CASE("the fuzzer's inputs and findings are answered") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TEST_DATA "/../fuzz/corpus/gpucore")) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(in), {}};
    CAPTURE(entry.path().string());
    CHECK(examined(file));
    ++files;
  }
  CHECK(files >= 5);
}

TEST_CASE("exceptions have the debugger's names") {
  CHECK(exception_name(1) == "Lane Illegal Address");
  CHECK(exception_name(19) == "Warp Stack Canary");
  CHECK(exception_name(30) == "Warp MMU Fault");
  CHECK(exception_name(36) == "TMA Syscall Error");
  CHECK(exception_name(37) == "exception 37");
  CHECK(exception_name(0xffffffff) == "exception 4294967295");
}
