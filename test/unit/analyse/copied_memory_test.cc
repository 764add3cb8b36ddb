// Tests which memory has known contents at a launch, with hand-built records. For each rule, there is also a similar
// case that must not match.
#include <doctest/doctest.h>

#include "analyse/recorded_memory.h"
#include "wire/intern.h"
#include "wire/operation.h"

namespace copied_memory_test {

using namespace cudadiag;
using namespace cudadiag::analyse;
using OperationKind = wire::operation::Kind;

namespace {

constexpr std::uint64_t kTable = 0x7a0000000000, kOther = kTable + (1u << 30);

struct Fixture {
  Fixture() {
    record.threads.resize(1);
    record.sites.resize(2);
    record.sites[0].function = 1;
    record.sites[1].function = 2;
    allocation(kTable);
    allocation(kOther);
  }
  session::Allocation& allocation(std::uint64_t address) {
    session::Allocation& made = record.allocations.emplace_back();
    made.address = address;
    made.bytes = 4096;
    made.kind = wire::allocation::Kind::device;
    made.serial = record.allocations.size();
    made.made = 1;
    return made;
  }
  session::Operation& operation(OperationKind kind) {
    session::Operation& made = record.operations.emplace_back();
    made.kind = kind;
    made.serial = record.operations.size();
    made.ticks = 10 * made.serial;
    record.threads[0].published = made.serial;
    return made;
  }
  void arguments(const session::Operation& of, const std::string& bytes, std::uint32_t flags = 0) {
    record.arguments.push_back({of.serial, 0, flags, {{0, bytes}}});
  }
  session::Operation& copy(std::uint64_t to, const std::string& bytes) {
    session::Operation& made = operation(OperationKind::copy);
    made.destination = to;
    made.argument = bytes.size();
    arguments(made, bytes);
    return made;
  }
  // Launches the kernel of `site` with one pointer.
  session::Operation& kernel(std::uint32_t site, std::uint64_t pointer) {
    session::Operation& made = operation(OperationKind::kernel);
    made.site = site;
    arguments(made, std::string(reinterpret_cast<const char*>(&pointer), sizeof pointer));
    return made;
  }
  std::vector<CopiedMemory> found() {
    const session::Operation launch = kernel(1, kTable);
    const AllocationMap map(record, launch.ticks);
    return copied_memory(record, launch, map);
  }

  session::ProcessRecord record;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a copy shows what a table contains") {
  copy(kTable + 8, "0123456789abcdef");
  const auto all = found();
  REQUIRE(all.size() == 1);
  CHECK(all[0].address == kTable + 8);
  CHECK(all[0].bytes == "0123456789abcdef");
  CHECK(all[0].allocation->address == kTable);
}

TEST_CASE_FIXTURE(Fixture, "a copy whose contents were not kept shows nothing") {
  copy(kTable, "0123456789abcdef");
  record.arguments.clear();
  CHECK(found().empty());
}

TEST_CASE_FIXTURE(Fixture, "a later copy replaces bytes") {
  copy(kTable, "0123456789abcdef");
  SUBCASE("with known ones") {
    copy(kTable + 8, "ABCD");
    CHECK(found().front().bytes == "01234567ABCDcdef");
  }
  SUBCASE("with unknown ones") {
    copy(kTable + 8, "ABCD");
    record.arguments.pop_back();
    CHECK(found().empty());
  }
  SUBCASE("unless they lie elsewhere") {
    copy(kTable + 16, "ABCD");
    record.arguments.pop_back();
    CHECK(found().size() == 1);
  }
}

TEST_CASE_FIXTURE(Fixture, "work that may change the table makes it unknown") {
  copy(kTable, "0123456789abcdef");
  SUBCASE("a memset") {
    session::Operation& memset = operation(OperationKind::memset);
    memset.destination = kTable;
    memset.argument = 8;
    CHECK(found().empty());
    record.operations[1].destination = kOther;
    CHECK(found().size() == 1);
  }
  SUBCASE("a kernel that received it") {
    kernel(2, kTable + 256);
    CHECK(found().empty());
  }
  SUBCASE("a kernel whose parameters are not all known") {
    kernel(2, kOther);
    CHECK(found().size() == 1);
    record.arguments[1].flags = wire::intern::kCut;
    CHECK(found().empty());
  }
  SUBCASE("a graph") {
    operation(OperationKind::graph);
    CHECK(found().empty());
  }
  SUBCASE("but not an earlier launch of the same kernel") {
    kernel(1, kTable);
    CHECK(found().size() == 1);
  }
  SUBCASE("unless that received it elsewhere") {
    const std::uint64_t other = kOther, table = kTable;
    kernel(1, kOther);
    record.arguments.back().parameters.push_back({8, std::string(reinterpret_cast<const char*>(&other), sizeof other)});
    const std::size_t before = record.arguments.size() - 1;
    CHECK(found().size() == 1);
    record.arguments[before].parameters[1].bytes.assign(reinterpret_cast<const char*>(&table), sizeof table);
    CHECK(found().empty());
  }
  SUBCASE("a kernel that received its end") {
    kernel(2, kTable + 4096);
    CHECK(found().empty());
    allocation(kTable + 4096);  // so this is the beginning of other memory
    CHECK(found().size() == 1);
  }
  SUBCASE("a kernel that received memory with its address") {
    const std::uint64_t table = kTable + 8;
    copy(kOther, std::string(reinterpret_cast<const char*>(&table), sizeof table));
    CHECK(found().size() == 2);
    kernel(2, kOther + 64);
    CHECK(found().empty());
  }
  SUBCASE("a copy that was queued later, in another stream") {
    const session::Operation launch = kernel(1, kTable);
    const AllocationMap map(record, launch.ticks);
    CHECK(copied_memory(record, launch, map).size() == 1);
    session::Operation& later = copy(kTable, "ABCD");
    CHECK(copied_memory(record, launch, map).size() == 1);
    later.stream = launch.stream + 1;
    CHECK(copied_memory(record, launch, map).empty());
  }
  SUBCASE("nor a refused call") {
    session::Operation& memset = operation(OperationKind::memset);
    memset.destination = kTable;
    memset.argument = 8;
    memset.result = 1;
    CHECK(found().size() == 1);
  }
}

TEST_CASE_FIXTURE(Fixture, "the program may write to some memory without a call") {
  copy(kTable, "0123456789abcdef");
  SUBCASE("managed memory") {
    record.allocations[0].kind = wire::allocation::Kind::managed;
    CHECK(found().empty());
  }
  SUBCASE("pinned memory from which the driver copies later") {
    constexpr std::uint64_t kPinned = 0x700000000000;
    allocation(kPinned).kind = wire::allocation::Kind::pinned;
    record.operations[0].source = kPinned + 8;
    CHECK(found().empty());
    record.operations[0].flags |= wire::operation::kBlocking;
    CHECK(found().size() == 1);
  }
}

TEST_CASE_FIXTURE(Fixture, "the table must be the memory that the copy filled") {
  const std::uint64_t copied = copy(kTable, "0123456789abcdef").ticks;
  SUBCASE("not an earlier one at the same place") {
    record.allocations[0].freed = copied + 1;
    allocation(kTable).made = copied + 2;
    CHECK(found().empty());
  }
  SUBCASE("not freed") {
    record.allocations[0].freed = copied + 1;
    CHECK(found().empty());
  }
}

TEST_CASE_FIXTURE(Fixture, "if later records are missing, nothing is known") {
  copy(kTable, "0123456789abcdef");
  operation(OperationKind::host_function);
  CHECK(found().size() == 1);
  record.operations.erase(record.operations.begin() + 1);
  CHECK(found().empty());
}

TEST_CASE_FIXTURE(Fixture, "the latest copy, memset or kernel that received the memory wrote to it last") {
  const auto last = [&]() -> std::uint64_t {
    const session::Operation launch = kernel(1, kTable);
    const AllocationMap map(record, launch.ticks);
    const session::Operation* writer = last_writer(record, launch, *map.find(kTable).allocation, map);
    return writer == nullptr ? 0 : writer->serial;
  };
  CHECK(last() == 0);  // only launches of the same kernel
  const std::uint64_t copied = copy(kTable + 8, "0123456789abcdef").serial;
  CHECK(last() == copied);
  kernel(2, kOther);
  CHECK(last() == copied);
  const std::uint64_t written = kernel(2, kTable + 64).serial;
  CHECK(last() == written);
  operation(OperationKind::graph);
  CHECK(last() == 0);  // it is unknown what a graph writes
}

}  // namespace copied_memory_test
