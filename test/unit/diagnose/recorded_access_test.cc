// Tests how the recording of a process that wrote a core dump explains the dump's addresses.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "diagnose/failure/failed_access.h"
#include "diagnose/failure/finding_builder.h"
#include "diagnose/failure/tool_evidence.h"
#include "evidence/core_facts.h"

namespace recorded_access_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;

namespace {

// A failure with the core dump `load`, in which each thread reads 1 TiB after the first parameter.
struct LoadDump {
  LoadDump() {
    const auto read = evidence::read_core(TEST_DATA "/gpucore/load.nvcudmp.gz");
    REQUIRE(std::holds_alternative<evidence::CoreFacts>(read));
    std::ifstream file(TEST_DATA "/sass/far_load.sm90.txt");
    results.failure = std::get<evidence::CoreFacts>(read).failure;
    results.code = std::string(std::istreambuf_iterator<char>(file), {});
    process.record.allocations.push_back(allocation(0x7f211fe00000));
    launch.ticks = 10;
    failure.process = &process;
    failure.candidates.emplace_back().operation = &launch;
  }
  static session::Allocation allocation(std::uint64_t address) {
    session::Allocation made;
    made.address = address;
    made.bytes = 4096;
    made.made = 1;
    made.kind = wire::allocation::Kind::device;
    return made;
  }
  Access access_now(bool of_first_run) {
    Diagnosis report;
    diagnose::Device& device = report.findings.emplace_back().device.emplace();
    device.child = child;
    device.of_first_run = of_first_run;
    device.exception = results.failure->exception_name;
    add_access(report, {&failure}, results,
               [](const session::Process&, std::uint32_t) { return std::pair<Location, symbolize::SourceStack>(); });
    return *report.findings.front().access;
  }
  symbolize::ToolResults results;
  session::Process process;
  session::Operation launch;
  analyse::Failure failure;
  std::string child;
};

TEST_CASE_FIXTURE(
    LoadDump,
    "a dump of the first run itself finds memory by the parameter's value, as a graph's node keeps no parameters") {
  CHECK(access_now(true).relation == Relation::past_end);
  CHECK(access_now(true).distance == (std::uint64_t{1} << 40) - 4096);
  REQUIRE(access_now(true).allocation);
  CHECK(access_now(true).allocation->bytes == 4096);
  // A rerun has different addresses, but no allocation is as long as the distance from the pointer.
  CHECK(access_now(false).relation == Relation::past_end);
  CHECK(access_now(false).distance == (std::uint64_t{1} << 40) - 4096);
  CHECK_FALSE(access_now(false).allocation);
  SUBCASE("a longer allocation may be meant") {
    process.record.allocations.front().bytes = (std::uint64_t{1} << 40) + 1;
    CHECK(access_now(false).relation == Relation::unknown);
  }
  SUBCASE("the host's memory may be meant") {
    process.record.properties["pageable_access"] = "1";
    CHECK(access_now(false).relation == Relation::unknown);
  }
  SUBCASE("a pointer to freed memory may be meant") {
    process.record.allocations.front().freed = 5;
    CHECK(access_now(false).relation == Relation::unknown);
  }
  SUBCASE("a part of adjacent mappings was unmapped") {
    process.record.allocations.push_back(LoadDump::allocation(0x7f211fe00000 + (std::uint64_t{1} << 40)));
    process.record.allocations.back().freed = 5;
    CHECK(access_now(true).relation == Relation::past_end);
    for (session::Allocation& each : process.record.allocations) each.kind = wire::allocation::Kind::mapped;
    CHECK(access_now(true).relation == Relation::freed);
    CHECK(access_now(true).allocation->is_freed);
  }
  SUBCASE("the parameters of a kernel that was launched on the GPU are not recorded") {
    child = "far_load(int*)";
    CHECK(access_now(true).relation == Relation::past_end);
    CHECK_FALSE(access_now(true).allocation);
  }
  SUBCASE("freed memory may have been allocated again") {
    process.record.allocations.front().freed = 5;
    CHECK(access_now(true).relation == Relation::unknown);
  }
  SUBCASE("memory that was allocated later is not what the kernel got") {
    process.record.allocations.front().made = 20;
    CHECK(access_now(true).relation == Relation::unknown);
  }
}

TEST_CASE_FIXTURE(LoadDump, "a dump of a recorded rerun finds memory in the recording of its process") {
  session::Process again;
  again.pid = 7;
  again.record.start_realtime = 5;
  again.record.allocations = process.record.allocations;
  process.record.allocations.clear();
  failure.again_process = &again;
  failure.again = &launch;
  results.dump = "/session/confirm/7-5.gpucore";
  REQUIRE(access_now(false).allocation);
  CHECK(access_now(false).distance == (std::uint64_t{1} << 40) - 4096);
  SUBCASE("but not if another process wrote it") {
    results.dump = "/session/confirm/8-5.gpucore";
    CHECK_FALSE(access_now(false).allocation);
  }
  // The code now reads the pointer from the memory of the first parameter.
  const auto replace = [this](std::string_view from, std::string_view to) {
    results.code.replace(results.code.find(from), from.size(), to);
  };
  replace("S2R R5, SR_TID.X", "LDC.64 R8, c[0x0][0x210]");
  replace("LDC.64 R2, c[0x0][0x210]", "LDG.E.64 R2, desc[UR4][R8.64]");
  replace("LDG.E R5,", "LDG.E R6,");
  for (evidence::FailingWarp& warp : results.failure->state->warps) {
    for (evidence::FailingLane& lane : warp.lanes) lane.registers[5] = 0x8021;
  }
  again.record.allocations.push_back(LoadDump::allocation(0x80211fc00000));
  SUBCASE("the nearest memory below the address") {
    const Access access = access_now(false);
    CHECK(access.from_memory);
    CHECK(access.relation == Relation::unknown);
    CHECK_FALSE(access.allocation);
    REQUIRE(access.nearest);
    CHECK(access.nearest->address == 0x80211fc00000);
    CHECK(access.nearest->offset == 2 << 20);
    results.dump = "/session/confirm/8-5.gpucore";
    CHECK_FALSE(access_now(false).nearest);
  }
  SUBCASE("threads whose addresses lie in live memory did not fail") {
    again.record.allocations.push_back(LoadDump::allocation(0x80211fe00000));
    std::uint64_t numbers = 0;
    for (evidence::FailingLane& lane : results.failure->state->warps.back().lanes) {
      lane.registers[5] = 0;  // below 4 GiB
      ++numbers;
    }
    CHECK(access_now(false).relation == Relation::unknown);  // the memory may be of another context
    again.record.contexts.emplace_back();
    CHECK(access_now(false).relation == Relation::never_allocated);
    CHECK(access_now(false).threads == numbers);
    CHECK(access_now(false).others == 32);
    again.record.allocations.back().freed = 15;  // may have failed
    CHECK(access_now(false).relation == Relation::unknown);
  }
  SUBCASE("it is unknown which of several pointers is bad") {
    results.failure->state->warps.front().lanes.back().registers[5] = 0x8022;
    CHECK(access_now(false).from_memory);
    CHECK_FALSE(access_now(false).address);
    CHECK_FALSE(access_now(false).nearest);
  }
  SUBCASE("of several pointers in a dump without a recording, those that can be no addresses are bad") {
    std::uint32_t& pointer = results.failure->state->warps.front().lanes.back().registers[5];
    pointer = 0xffff'8022;
    CHECK(access_now(false).relation == Relation::unknown);
    results.dump = "/session/confirm/8-5.gpucore";
    CHECK(access_now(false).relation == Relation::never_allocated);
    CHECK(access_now(false).threads == 1);
    pointer = 0;  // together with the lower half
    results.failure->state->warps.front().lanes.back().registers[4] = 0;
    CHECK(access_now(false).relation == Relation::unknown);
  }
  SUBCASE("none if it is too far away") {
    again.record.allocations.pop_back();
    CHECK_FALSE(access_now(false).nearest);
  }
  SUBCASE("freed memory at the address") {
    again.record.allocations.push_back(LoadDump::allocation(0x80211fe00000));
    again.record.allocations.back().freed = 5;
    CHECK(access_now(false).relation == Relation::freed);
    CHECK(access_now(false).allocation->is_freed);
    CHECK_FALSE(access_now(false).nearest);
    results.dump.clear();
    CHECK(access_now(false).relation == Relation::unknown);
  }
}

TEST_CASE_FIXTURE(LoadDump, "an address of unknown origin is compared with the memory that the kernel received") {
  const std::string_view origin = "LDC.64 R2, c[0x0][0x210]";
  results.code.replace(results.code.find(origin), origin.size(), "SHFL.IDX PT, R2, R20, R21, R22");
  results.code.replace(results.code.find("LDG.E R5,"), 9, "LDG.E R6,");
  for (evidence::FailingWarp& warp : results.failure->state->warps) {
    for (evidence::FailingLane& lane : warp.lanes) lane.registers[5] = 0x8021;
  }
  const std::uint64_t address = access_now(true).address.value();
  process.record.allocations = {LoadDump::allocation(address - (8u << 20)), LoadDump::allocation(address + (4u << 20))};
  launch.kind = wire::operation::Kind::kernel;
  session::Arguments& given = process.record.arguments.emplace_back();
  for (const session::Allocation& each : process.record.allocations) {
    const auto offset = static_cast<std::uint32_t>(8 * given.parameters.size());
    given.parameters.push_back({offset, std::string(reinterpret_cast<const char*>(&each.address), 8)});
  }
  SUBCASE("one is much nearer than the others") {
    given.parameters.front().bytes = std::string(8, '\0');
    REQUIRE(access_now(true).nearest);
    CHECK(access_now(true).nearest->address == address + (4u << 20));
    CHECK(access_now(true).relation == Relation::unknown);
  }
  SUBCASE("the same holds for memory below the address") {
    process.record.allocations.back().address += 32u << 20;
    const std::uint64_t above = process.record.allocations.back().address;
    given.parameters.back().bytes = std::string(reinterpret_cast<const char*>(&above), 8);
    REQUIRE(access_now(true).nearest);
    CHECK(access_now(true).nearest->address == address - (8u << 20));
  }
  SUBCASE("none if two are almost as near") {
    process.record.allocations.back().address += 1u << 20;
    const std::uint64_t above = process.record.allocations.back().address;
    given.parameters.back().bytes = std::string(reinterpret_cast<const char*>(&above), 8);
    CHECK_FALSE(access_now(true).nearest);
  }
  SUBCASE("none if other memory may be meant") {
    given.parameters.front().bytes = std::string(8, '\0');
    session::Allocation other = LoadDump::allocation(address - 4096);
    SUBCASE("memory that was not passed ends at the address") { process.record.allocations.push_back(other); }
    SUBCASE("freed memory contains the address") {
      other.bytes = 8192, other.freed = 5;
      process.record.allocations.push_back(other);
    }
    SUBCASE("some parameters are unknown") { given.flags = wire::intern::kCut; }
    SUBCASE("the nearest memory is of the host") {
      process.record.allocations.back().kind = wire::allocation::Kind::pinned;
    }
    SUBCASE("it is too far away") {
      process.record.allocations.back().address += std::uint64_t{1} << 40;
      const std::uint64_t above = process.record.allocations.back().address;
      given.parameters.back().bytes = std::string(reinterpret_cast<const char*>(&above), 8);
    }
    CHECK_FALSE(access_now(true).nearest);
  }
  SUBCASE("none if a rerun wrote the dump, whose addresses differ") { CHECK_FALSE(access_now(false).nearest); }
}

}  // namespace

}  // namespace recorded_access_test
