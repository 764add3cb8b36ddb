// Tests which access failed, using dumps from an H200 (data/gpucore), with and without a recording. Tests which code
// counts, too.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <memory>

#include "diagnose/failure/failed_access.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/failure/tool_evidence.h"
#include "evidence/core_facts.h"

namespace access_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;
using sass::AccessKind;
using sass::Space;

namespace {

const GpuMemory kAllKnown(true, false), kSomeKnown(false, false), kHostToo(true, true);

std::optional<DumpAccess> access_in(const std::string& dump, const std::string& code) {
  const auto read = evidence::read_core(TEST_DATA "/gpucore/" + dump + ".nvcudmp.gz");
  REQUIRE(std::holds_alternative<evidence::CoreFacts>(read));
  std::ifstream file(TEST_DATA "/sass/" + code + ".sm90.txt");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  REQUIRE_FALSE(text.empty());
  return dump_access(*std::get<evidence::CoreFacts>(read).failure, text);
}

// The memory of a recorded launch, and the pointer to it in the kernel's first parameter.
struct Recorded {
  explicit Recorded(std::uint64_t bytes, std::uint64_t offset = 0) {
    allocation.address = 0x7a0000000000;
    allocation.bytes = bytes;
    argument.name = "parameter 1";
    argument.pointer = allocation.address + offset;
    argument.word = 0;
    argument.where = {analyse::Whereabouts::State::live, &allocation, bytes};
  }
  session::Allocation allocation;
  analyse::OperationArgument argument;
};

// Builds a dump with one thread per distance. Each thread accesses the address at its distance from the parameter's
// value.
DumpAccess dump_at(std::initializer_list<std::int64_t> distances, std::uint32_t bytes = 4) {
  constexpr std::uint64_t kValue = 0x7f0000000000;
  DumpAccess dump{.kind = AccessKind::load, .space = Space::global, .bytes = bytes};
  dump.parameters = {{.word = 0, .number = 1, .byte = 0, .value = kValue}};
  for (const std::int64_t distance : distances) {
    const auto thread = static_cast<std::uint32_t>(dump.lanes.size());
    dump.lanes.push_back({{2, 0, 0}, {thread, 0, 0}, kValue + static_cast<std::uint64_t>(distance)});
  }
  return dump;
}

}  // namespace

TEST_CASE("a failed access lacks its address if the address could still say which memory was left") {
  Finding finding;
  finding.code = 700;
  finding.launch.emplace().mangled = "_Z6gatherPKf";
  CHECK_FALSE(lacks_address(finding));  // nothing shows from which parameter the address is computed
  Access& access = finding.access.emplace();
  access.parameter = 1;
  CHECK(lacks_address(finding));
  access.relation = Relation::freed;
  CHECK_FALSE(lacks_address(finding));
  access.relation = Relation::past_end;
  access.by_code = true;  // the distance is that of the farthest thread
  CHECK(lacks_address(finding));
  access.loaded = {8};
  CHECK_FALSE(lacks_address(finding));
  access.loaded.clear();
  access.space = sass::Space::shared;
  CHECK_FALSE(lacks_address(finding));
  access.space = sass::Space::generic;
  access.address = 0x7f0000000000;
  CHECK_FALSE(lacks_address(finding));
  access.address.reset();
  finding.code = 719;
  CHECK_FALSE(lacks_address(finding));
}

TEST_CASE("a bad load: 1 TiB after the parameter in every thread") {
  const auto access = access_in("load", "far_load");
  REQUIRE(access);
  CHECK(access->kind == AccessKind::load);
  CHECK(access->bytes == 4);
  CHECK(access->unknown == 0);
  REQUIRE(access->lanes.size() == 64);
  CHECK(access->lanes[0].address == 0x7f211fe00000 + (std::uint64_t{1} << 40));
  CHECK(access->lanes[63].address == 0x7f211fe0007c + (std::uint64_t{1} << 40));
  CHECK(access->lanes[63].block == std::array{1u, 0u, 0u});
  const BaseParameter* parameter = only_parameter(*access);
  REQUIRE(parameter != nullptr);
  CHECK(parameter->number == 1);
  CHECK(parameter->byte == 0);
  CHECK(parameter->value == 0x7f211fe00000);
  CHECK(access_lines(*access) ==
        std::vector<std::string>{"load of 4 bytes at 0x80211fe00000, 1.0 TiB after parameter 1 "
                                 "(0x7f211fe00000), by block 0,0,0 thread 0,0,0"});
}

TEST_CASE("a thread that is far from the others is named") {
  DumpAccess dump = dump_at({0, 4, std::int64_t{1} << 30});
  CHECK(access_lines(dump) ==
        std::vector<std::string>{
            "load of 4 bytes at 0x7f0000000000, the value of parameter 1, by block 2,0,0 thread 0,0,0",
            "farthest at 0x7f0040000000, 1.0 GiB after parameter 1 (0x7f0000000000), by block 2,0,0 thread 2,0,0"});
  dump.lanes.pop_back();
  CHECK(access_lines(dump).size() == 1);
}

TEST_CASE("a misaligned store: one byte after the parameter") {
  const auto access = access_in("misaligned", "misaligned_store");
  REQUIRE(access);
  CHECK(access->kind == AccessKind::store);
  CHECK(access->misaligned);
  REQUIRE(access->lanes.size() == 32);
  CHECK(access->lanes[0].address == 0x7fb937e00001);
  CHECK(access->lanes[3].address == 0x7fb937e00004);
  CHECK(only_parameter(*access)->value == 0x7fb937e00000);
  // Every fourth address happens to be aligned. The first misaligned address is reported.
  const Access found = recorded_access(*access, nullptr, kSomeKnown);
  CHECK(found.relation == Relation::misaligned);
  CHECK(found.distance == 1);
  CHECK(found.thread == std::array{0u, 0u, 0u});
  CHECK(found.threads == 24);
  CHECK(found.others == 8);
}

TEST_CASE("shared memory: 4 MiB past the end of 2 KiB") {
  const auto access = access_in("shared", "shared_out_of_range");
  REQUIRE(access);
  CHECK(access->space == Space::shared);
  REQUIRE(access->lanes.size() == 32);
  CHECK(access->lanes[31].address == 0x400400);
  CHECK(access->parameters.empty());
  const Access found = recorded_access(*access, nullptr, kAllKnown);
  CHECK(found.relation == Relation::past_end);
  CHECK(found.distance == 0x400400 - 2048);
  CHECK(found.threads == 32);
}

TEST_CASE("local memory: the next call has overwritten the address") {
  const auto access = access_in("stack", "overflow_stack");
  REQUIRE(access);
  CHECK(access->space == Space::local);
  CHECK(access->kind == AccessKind::store);
}

TEST_CASE("stores whose warps had exited: only the parameter is known") {
  struct Sample {
    const char *dump, *code;
  };
  for (const Sample& sample : {Sample{"far", "far_store"}, Sample{"freed", "fill"}}) {
    CAPTURE(sample.dump);
    const auto access = access_in(sample.dump, sample.code);
    REQUIRE(access);
    CHECK(access->kind == AccessKind::store);
    CHECK(access->lanes.empty());
    REQUIRE(only_parameter(*access) != nullptr);
    CHECK(only_parameter(*access)->number == 1);
    CHECK_FALSE(only_parameter(*access)->value);
    CHECK(access_lines(*access) ==
          std::vector<std::string>{"store of 4 bytes through parameter 1; its address is unknown"});
    Recorded recorded(4096);
    CHECK(recorded_access(*access, &recorded.argument, kAllKnown).relation == Relation::unknown);
    recorded.argument.where.state = analyse::Whereabouts::State::freed;
    CHECK(recorded_access(*access, &recorded.argument, kAllKnown).relation == Relation::freed);
    recorded.argument = {};
    recorded.argument.word = 0;
    recorded.argument.pointer = 0;
    CHECK(recorded_access(*access, &recorded.argument, kAllKnown).relation == Relation::null);
  }
}

TEST_CASE("the address of a variable and its size come from the dump") {
  const auto access = access_in("variable", "variable");
  REQUIRE(access);
  REQUIRE(only_parameter(*access) != nullptr);
  const evidence::Variable& variable = only_parameter(*access)->variable.value();
  CHECK(variable.name == "histogram");
  CHECK(variable.address == 0x7f1502c00000);
  CHECK(variable.bytes == 4 << 20);
  const Access found = recorded_access(*access, nullptr, kSomeKnown);
  CHECK(found.relation == Relation::past_end);
  CHECK(found.distance == (60 << 20) + 20);
  CHECK(found.thread == std::array<std::uint32_t, 3>{188, 0, 0});
  CHECK(found.threads == 1);
  CHECK(found.variable == "histogram");
  CHECK(found.allocation->bytes == 4 << 20);
  DumpAccess lost = *access;
  lost.lanes.clear();
  CHECK(recorded_access(lost, nullptr, kSomeKnown).outside);
}

TEST_CASE("an assertion is not an access") { CHECK_FALSE(access_in("trap", "fill")); }

TEST_CASE("an address past the end, relative to the parameter in another run") {
  const Recorded recorded(4096);
  const Access access = recorded_access(dump_at({4092, 4096, 4100, 8192}), &recorded.argument, kAllKnown);
  CHECK(access.relation == Relation::past_end);
  CHECK(access.distance == 0);
  CHECK(access.farthest == 4096);
  CHECK(access.threads == 3);
  CHECK(access.others == 1);  // the first address is inside the memory
  CHECK(access.thread == std::array{1u, 0u, 0u});
  CHECK(access.address == 0x7f0000001000);
  CHECK_FALSE(access.overflow);
  SUBCASE("the last bytes of an access count") {
    CHECK(recorded_access(dump_at({4094}), &recorded.argument, kAllKnown).relation == Relation::past_end);
  }
  SUBCASE("a pointer into the middle leaves less room") {
    const Recorded middle(4096, 4000);
    CHECK(recorded_access(dump_at({96}), &middle.argument, kAllKnown).relation == Relation::past_end);
    CHECK(recorded_access(dump_at({92}), &middle.argument, kAllKnown).relation == Relation::inside);
    CHECK(recorded_access(dump_at({-4000}), &middle.argument, kAllKnown).relation == Relation::inside);
    CHECK(recorded_access(dump_at({-4001}), &middle.argument, kAllKnown).relation == Relation::before);
  }
  SUBCASE("no distance without the parameter's value") {
    DumpAccess dump = dump_at({4096});
    dump.parameters[0].value.reset();
    CHECK(recorded_access(dump, &recorded.argument, kAllKnown).relation == Relation::unknown);
  }
  SUBCASE("no distance without a recording") {
    CHECK(recorded_access(dump_at({4096}), nullptr, kSomeKnown).relation == Relation::unknown);
  }
}

TEST_CASE("an address before the beginning") {
  const Recorded recorded(4096);
  const Access access = recorded_access(dump_at({-4, 0}), &recorded.argument, kAllKnown);
  CHECK(access.relation == Relation::before);
  CHECK(access.distance == 4);
  CHECK(access.threads == 1);
}

TEST_CASE("a 32-bit index overflow is reported only if 2^32 elements explain the address") {
  constexpr std::int64_t kWrap = std::int64_t{1} << 34;  // 2^32 elements of 4 bytes each
  const Recorded large(3ull << 32 << 2);
  CHECK(recorded_access(dump_at({8 - kWrap / 2}), &large.argument, kAllKnown).overflow);
  const Recorded small(4096);
  CHECK_FALSE(recorded_access(dump_at({8 - kWrap / 2}), &small.argument, kAllKnown).overflow);
  CHECK(recorded_access(dump_at({kWrap - 4}), &small.argument, kAllKnown)
            .overflow);  // the index is -1 as an unsigned 32-bit number
  CHECK_FALSE(recorded_access(dump_at({kWrap / 2 - 4}), &small.argument, kAllKnown).overflow);
}

TEST_CASE("null, freed memory, and memory that was never allocated") {
  DumpAccess null = dump_at({0});
  null.parameters[0].value = 0;
  null.lanes[0].address = 16;
  CHECK(recorded_access(null, nullptr, kSomeKnown).relation == Relation::null);
  Recorded recorded(4096);
  recorded.argument.where.state = analyse::Whereabouts::State::freed;
  CHECK(recorded_access(dump_at({8}), &recorded.argument, kAllKnown).relation == Relation::freed);
  recorded.argument.where = {};
  CHECK(recorded_access(dump_at({8}), &recorded.argument, kAllKnown).relation == Relation::never_allocated);
  CHECK(recorded_access(dump_at({8}), &recorded.argument, kSomeKnown).relation == Relation::unknown);
}

// A thread that skips the instruction still has an older value in the registers of the address.
TEST_CASE("a null address is not computed from a pointer that is not null") {
  const Recorded recorded(4096);
  DumpAccess dump = dump_at({0, 0, 8192});
  dump.lanes[0].address = dump.lanes[1].address = 0;
  Access access = recorded_access(dump, &recorded.argument, kAllKnown);
  CHECK(access.relation == Relation::past_end);
  CHECK(access.threads == 1);
  CHECK(access.others == 2);
  CHECK(access.thread == std::array{2u, 0u, 0u});
  dump.lanes.pop_back();
  access = recorded_access(dump, &recorded.argument, kAllKnown);
  CHECK(access.relation == Relation::unknown);
  CHECK_FALSE(access.address);
  CHECK_FALSE(access.outside);
  SUBCASE("nor is anything concluded if the other threads are right") {
    dump.lanes.back().address = dump_at({0}).lanes.front().address;
    access = recorded_access(dump, &recorded.argument, kAllKnown);
    CHECK(access.relation == Relation::unknown);
    CHECK_FALSE(access.outside);
  }
}

TEST_CASE("only the memory of the failed access keeps its lines") {
  const auto at = [](int line) {
    Location location;
    location.file = "a.cu";
    location.line = line;
    return location;
  };
  Finding finding;
  finding.related = {{Role::allocated, at(9)}, {Role::freed, at(12)}, {Role::capture, at(20)}};
  keep_related(finding);
  CHECK(finding.related.size() == 3);
  finding.access.emplace().allocation.emplace().allocated = at(9);
  keep_related(finding);
  REQUIRE(finding.related.size() == 2);
  CHECK(finding.related[0].location.line == 9);
  CHECK(finding.related[1].role == Role::capture);
  finding.access->allocation->allocated = at(8);
  keep_related(finding);
  CHECK(finding.related.size() == 1);
}

TEST_CASE("an address in the host's heap, and an impossible address") {
  DumpAccess dump = dump_at({8});
  dump.parameters[0].value = 0x55aa00001000;
  dump.lanes[0].address = 0x55aa00001008;
  CHECK(recorded_access(dump, nullptr, kSomeKnown).relation == Relation::host);
  dump.parameters[0].value = 0x7f1200001000;
  dump.lanes[0].address = 0x7f1200001008;
  CHECK(recorded_access(dump, nullptr, kSomeKnown).relation == Relation::unknown);
  dump.parameters[0].value = 0x100000;
  dump.lanes[0].address = 0x100008;
  CHECK(recorded_access(dump, nullptr, kSomeKnown).relation == Relation::never_allocated);
  SUBCASE("through a pointer that the kernel read from memory") {
    dump.parameters.clear();
    dump.lanes[0].address = 0x55aa00001008;
    CHECK(recorded_access(dump, nullptr, kSomeKnown).relation == Relation::host);
    CHECK(recorded_access(dump, nullptr, kHostToo).relation == Relation::unknown);
    dump.lanes[0].address = 0x7f1200001008;
    CHECK(recorded_access(dump, nullptr, kSomeKnown).relation == Relation::unknown);
  }
}

TEST_CASE("a bulk copy must begin at a multiple of 16 bytes") {
  const Recorded recorded(4096);
  DumpAccess dump = dump_at({16, 24}, 0);
  dump.kind = AccessKind::copy;
  dump.misaligned = true;
  const Access access = recorded_access(dump, &recorded.argument, kAllKnown);
  CHECK(access.relation == Relation::misaligned);
  CHECK(access.distance == 8);
  CHECK(access.threads == 1);
  SUBCASE("its size or its address in shared memory may be misaligned instead") {
    dump.lanes.pop_back();
    CHECK(recorded_access(dump, &recorded.argument, kAllKnown).relation == Relation::unknown);
  }
}

TEST_CASE("an unknown address that the code computes from live memory is outside of it") {
  Recorded recorded(4096);
  diagnose::DumpAccess dump = dump_at({});
  dump.unknown = 32;
  CHECK(recorded_access(dump, &recorded.argument, kAllKnown).outside);
  CHECK(recorded_access(dump, &recorded.argument, kAllKnown).relation == Relation::unknown);
  CHECK_FALSE(recorded_access(dump, nullptr, kAllKnown).outside);
  dump.misaligned = true;
  CHECK_FALSE(recorded_access(dump, &recorded.argument, kAllKnown).outside);
  dump.misaligned = false;
  recorded.allocation.freed = 20;  // while the kernel may have been running
  CHECK_FALSE(recorded_access(dump, &recorded.argument, kAllKnown).outside);
}

TEST_CASE("an address of which only the upper half is known, and is 0, comes from a null pointer or a number") {
  diagnose::DumpAccess dump = dump_at({});
  dump.parameters.clear();
  dump.unknown = 32;
  CHECK(recorded_access(dump, nullptr, kAllKnown).relation == Relation::unknown);
  dump.low = 32;
  const Access access = recorded_access(dump, nullptr, kAllKnown);
  CHECK(access.relation == Relation::null);
  CHECK(access.threads == 32);
  CHECK_FALSE(access.address);
}

TEST_CASE("an address of more than 48 bits belongs to no memory") {
  diagnose::DumpAccess dump = dump_at({0});
  dump.parameters.clear();
  dump.lanes.front().address = std::uint64_t{1} << 48;
  CHECK(recorded_access(dump, nullptr, kAllKnown).relation == Relation::never_allocated);
  --dump.lanes.front().address;
  CHECK(recorded_access(dump, nullptr, kAllKnown).relation == Relation::unknown);
}

TEST_CASE("memory of another device") {
  Recorded recorded(4096);
  recorded.argument.out_of_reach = true;
  CHECK(recorded_access(dump_at({8}), &recorded.argument, kAllKnown).relation == Relation::other_device);
}

TEST_CASE("the user's line leads, not the inlined header") {
  using Lines = std::vector<evidence::SourceLine>;
  const evidence::SourceLine atomic{"atomicAdd", "/usr/local/cuda/include/sm_60_atomic_functions.hpp", 90};
  const evidence::SourceLine cub{"cub::Load", "/opt/x/cub/thread/thread_load.cuh", 300};
  const evidence::SourceLine own{"histogram", "/home/me/histogram.cu", 7};
  const evidence::SourceLine caller{"kernel", "/home/me/main.cu", 20};
  CHECK(leading_line(Lines{atomic, own, caller}) == 1);
  CHECK(leading_line(Lines{atomic, cub, own}) == 2);
  CHECK(leading_line(Lines{own, caller}) == 0);
  CHECK(leading_line(Lines{atomic, cub}) == 0);
  CHECK(leading_line(Lines{{"f", "/home/me/sm_90_tricks.cu", 3}, own}) == 0);
}

// A program may load several kernels with one name.
TEST_CASE("code with parameters of another size than those of the launch belongs to another kernel") {
  constexpr const char* kCode =
      "/*0000*/ S2R R5, SR_TID.X ;\n"
      "/*0010*/ LDC.64 R2, c[0x0][0x210] ;\n"
      "/*0020*/ IMAD.WIDE.U32 R2, R5, 0x4, R2 ;\n"
      "/*0030*/ STG.E desc[UR4][R2.64], R5 ;\n"
      "/*0040*/ EXIT ;\n";
  constexpr std::uint64_t kFirst = 0x7a0000000000;
  session::Session session;
  session::ProcessRecord& record = session.processes.emplace_back().record;
  record.functions = {"write", "other"};
  record.contexts.emplace_back();
  record.streams.emplace_back();
  session::Allocation& memory = record.allocations.emplace_back();
  memory.address = kFirst;
  memory.bytes = 4 << 20;
  memory.made = memory.serial = 1;
  for (std::uint32_t kernel = 1; kernel <= 2; ++kernel) {
    record.sites.emplace_back().function = kernel;
    record.sites.back().kind = wire::operation::Kind::kernel;
    session::Operation& launch = record.operations.emplace_back();
    launch.kind = wire::operation::Kind::kernel;
    launch.serial = launch.site = kernel;
    launch.ticks = 10;
    launch.grid = {1, 1, 1};
    launch.block = {32, 1, 1};
    record.arguments.push_back({kernel, 0, 0, {{0, {reinterpret_cast<const char*>(&kFirst), sizeof kFirst}}}});
  }
  const auto candidates_left = [&](std::uint32_t size) {
    session.kernel_code = {{"write", 0x210, size, true, kCode}};
    std::vector<analyse::Failure> failures(1);
    failures[0].code = 700;
    failures[0].process = &session.processes[0];
    for (auto& launch : record.operations) failures[0].candidates.emplace_back().operation = &launch;
    drop_harmless(failures, session, "");
    return failures[0].candidates.size();
  };
  CHECK(candidates_left(8) == 1);
  CHECK(candidates_left(16) == 2);
  record.arguments[0].flags = wire::intern::kCut;
  CHECK(candidates_left(16) == 1);
}

}  // namespace access_test
