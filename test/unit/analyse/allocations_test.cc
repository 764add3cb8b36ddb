#include <doctest/doctest.h>

#include <random>

#include "analyse/operation_arguments.h"
#include "analyse/recorded_memory.h"
#include "unit/analyse/picture_builder.h"
#include "wire/intern.h"

using namespace cudadiag;
using analyse::AllocationMap;
using session::Allocation;
using State = analyse::Whereabouts::State;
namespace {

Allocation& add(session::ProcessRecord& record, std::uint64_t address, std::uint64_t bytes, std::uint64_t made,
                std::uint64_t freed = 0) {
  Allocation allocation;
  allocation.serial = record.allocations.size() + 1;
  allocation.address = address;
  allocation.bytes = bytes;
  allocation.made = made;
  allocation.freed = freed;
  allocation.kind = wire::allocation::Kind::device;
  record.allocations.push_back(allocation);
  return record.allocations.back();
}

// A simple reference implementation, which checks every allocation in turn.
std::pair<State, std::uint64_t> look_at_each(const session::ProcessRecord& record, std::uint64_t ticks,
                                             std::uint64_t address) {
  const Allocation *live = nullptr, *freed = nullptr, *before = nullptr;
  for (const Allocation& each : record.allocations) {
    const bool inside = each.bytes > 0 && address >= each.address && address - each.address < each.bytes;
    const bool gone = each.freed != 0 && each.freed <= ticks;
    const bool lives = each.made <= ticks && !gone;
    if (inside && lives) live = &each;
    if (inside && gone && (freed == nullptr || each.freed >= freed->freed)) freed = &each;
    const std::uint64_t end = each.address + each.bytes;
    const bool behind = each.bytes > 0 && lives && address >= end && address - end <= AllocationMap::kPastEnd;
    if (behind && (before == nullptr || end >= before->address + before->bytes)) before = &each;
  }
  if (live != nullptr) return {State::live, live->serial};
  if (freed != nullptr) return {State::freed, freed->serial};
  if (before != nullptr) return {State::past_end, before->serial};
  return {State::unknown, 0};
}

}  // namespace

TEST_CASE("mappings that follow each other without a gap are one piece of memory") {
  session::ProcessRecord record;
  for (const std::uint64_t address : {0x1000, 0x1100, 0x1200, 0x1400}) {
    add(record, address, 0x100, 1).kind = wire::allocation::Kind::mapped;
  }
  add(record, 0x1500, 0x100, 1);
  const AllocationMap map(record, 9);
  CHECK(map.below(0x1350).allocation == &record.allocations[2]);
  CHECK(map.below(0x9000).allocation == &record.allocations[4]);
  CHECK(map.below(0xfff).allocation == nullptr);
  CHECK(map.find(0x1010).bytes == 0x300);
  CHECK(map.find(0x1110).bytes == 0x200);
  CHECK(map.find(0x1410).bytes == 0x100);
  CHECK(map.find(0x1510).bytes == 0x100);
}

TEST_CASE("a search through circular mappings in a damaged recording ends") {
  session::ProcessRecord record;
  add(record, 0x1000, 0x0ull - 0x800, 1).kind = wire::allocation::Kind::mapped;
  add(record, 0x800, 0x800, 1).kind = wire::allocation::Kind::mapped;
  CHECK(AllocationMap(record, 9).find(0x900).allocation != nullptr);
}

TEST_CASE("the map agrees with a check of each allocation for every address") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    session::ProcessRecord record;
    const int count = static_cast<int>(random() % 12);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t made = random() % 50;
      add(record, 0x1000 + random() % 64, random() % 24, made, random() % 2 == 0 ? 0 : made + random() % 50);
    }
    const std::uint64_t ticks = random() % 100;
    const AllocationMap map(record, ticks);
    for (std::uint64_t address = 0xff0; address < 0x1070; ++address) {
      const auto found = map.find(address);
      const auto [state, serial] = look_at_each(record, ticks, address);
      REQUIRE(found.state == state);
      REQUIRE((found.allocation == nullptr ? 0 : found.allocation->serial) == serial);
    }
  }
}

TEST_CASE("an address up to one mebibyte past the end of an allocation belongs to it") {
  session::ProcessRecord record;
  add(record, 0x10000000, 0x1000, 1);
  const AllocationMap map(record, 2);
  CHECK(map.find(0x10000fff).state == State::live);
  CHECK(map.find(0x10001000).state == State::past_end);
  CHECK(map.find(0x10001000 + AllocationMap::kPastEnd).state == State::past_end);
  CHECK(map.find(0x10001001 + AllocationMap::kPastEnd).state == State::unknown);
  CHECK(map.find(0x0fffffff).state == State::unknown);
}

TEST_CASE("memory that is freed later is live, and memory that is allocated later does not exist yet") {
  session::ProcessRecord record;
  add(record, 0x1000, 16, 10, 30);
  CHECK(AllocationMap(record, 9).find(0x1000).state == State::unknown);
  CHECK(AllocationMap(record, 29).find(0x1000).state == State::live);
  CHECK(AllocationMap(record, 30).find(0x1000).state == State::freed);
  add(record, 0x1000, 8, 40);
  CHECK(AllocationMap(record, 41).find(0x1000).state == State::live);
  CHECK(AllocationMap(record, 41).find(0x1008).state == State::freed);
}

TEST_CASE("the holders are the live allocations on the device, and the peak is the most that was live at once") {
  session::ProcessRecord record;
  record.contexts = {{wire::context::State::live, 1, 0xc0, 0, wire::context::Markers::on},
                     {wire::context::State::live, 2, 0xc1, 1, wire::context::Markers::on}};
  const auto on = [&](Allocation& allocation, std::uint32_t context, std::uint32_t site) {
    allocation.context = context;
    allocation.site = site;
  };
  on(add(record, 0x1000, 100, 1), 0, 1);
  on(add(record, 0x2000, 70, 2), 0, 2);
  on(add(record, 0x3000, 80, 3), 0, 2);
  on(add(record, 0x4000, 500, 4, 5), 0, 3);  // already freed
  on(add(record, 0x5000, 900, 6), 1, 4);     // on another device
  on(add(record, 0x6000, 900, 20), 0, 5);    // allocated after the failure
  on(add(record, 0x7000, 900, 6), 0, 6);
  record.allocations.back().kind = wire::allocation::Kind::pinned;
  session::FailedCall error;
  error.ticks = 10;
  error.context = 0;
  error.call = "cuMemAlloc_v2";
  const auto use = analyse::memory_use(record, error);
  CHECK(use.bytes == 250);
  CHECK(use.peak == 750);
  REQUIRE(use.holders.size() == 2);
  CHECK((use.holders[0].site == 2 && use.holders[0].bytes == 150 && use.holders[0].count == 2));
  CHECK((use.holders[1].site == 1 && use.holders[1].bytes == 100));
  error.call = "cuMemHostAlloc";
  CHECK(analyse::memory_use(record, error).bytes == 900);
}

namespace {

std::string words(std::initializer_list<std::uint64_t> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * 8};
}

struct Launched {
  analyse::PictureBuilder picture;
  analyse::Failure failure;
  Launched() {
    picture.issue(picture.stream(0)).ticks = 100;
    add(picture.process.record, 0x10000000, 0x1000, 1);
    add(picture.process.record, 0x20000000, 0x1000, 1, 50);
    failure.process = &picture.process;
  }
  session::Operation& operation() { return picture.process.record.operations.front(); }
  void parameters(std::vector<session::Parameter> values, std::uint64_t serial = 1) {
    picture.process.record.arguments.push_back({serial, 0, 0, std::move(values)});
  }
  std::vector<analyse::OperationArgument> arguments() {
    failure.candidates = {{&operation(), "", {}}};
    return analyse::arguments_of(failure).arguments;
  }
};

}  // namespace

TEST_CASE("a node of a graph has the parameters with which it was created") {
  Launched launched;
  session::GraphNode node;
  analyse::Candidate candidate;
  launched.operation().kind = wire::operation::Kind::graph;
  launched.operation().graph = 3;
  candidate.operation = &launched.operation();
  candidate.node = &node;
  candidate.node_index = 2;
  launched.picture.process.record.arguments.push_back(
      {std::uint64_t{3} << 32 | 1, wire::intern::kOfNode, 0, {{0, words({0x20000008})}}});
  const auto found = [&] {
    launched.failure.candidates = {candidate};
    return analyse::arguments_of(launched.failure).arguments;
  };
  REQUIRE(found().size() == 1);
  CHECK(found()[0].name == "parameter 1");
  CHECK(found()[0].where.state == State::freed);
  SUBCASE("but not if they were changed later") { candidate.changed = 1; }
  SUBCASE("but not if it is one of several") { candidate.nodes = 2; }
  SUBCASE("but not those of another node") { candidate.node_index = 1; }
  SUBCASE("but not those of another graph") { launched.operation().graph = 4; }
  SUBCASE("but not if it runs no kernel") { node.type = analyse::kCopy; }
  CHECK(found().empty());
}

TEST_CASE("a parameter that is a pointer, and one that is not") {
  Launched launched;
  launched.parameters({{0, words({0x20000010})}, {8, std::string("\x05\0\0\0", 4)}, {16, words({0})}});
  const auto arguments = launched.arguments();
  REQUIRE(arguments.size() == 3);
  CHECK((arguments[0].name == "parameter 1" && arguments[0].pointer == 0x20000010 && arguments[0].matters()));
  CHECK(arguments[0].where.state == State::freed);
  CHECK((arguments[1].value == "5" && !arguments[1].pointer && !arguments[1].matters()));
  CHECK((arguments[2].pointer == 0 && !arguments[2].matters()));
}

TEST_CASE("pointers inside a structure are found by their alignment among all parameters") {
  Launched launched;
  // The structure is at offset 4, so its second and fourth 4-byte words are aligned to 8 bytes.
  launched.parameters({{4, std::string(4, '\x01') + words({0x10001004}) + std::string(4, '\x02')}});
  const auto arguments = launched.arguments();
  REQUIRE(arguments.size() == 1);
  CHECK((arguments[0].name == "parameter 1 at byte 4" && arguments[0].past_end() == 4 && arguments[0].matters()));
}

TEST_CASE("a pointer to the exact end does not matter") {
  Launched launched;
  launched.parameters({{0, words({0x10001000})}});
  CHECK(!launched.arguments().front().matters());
}

TEST_CASE("memory of another device is out of reach if access was never granted") {
  Launched launched;
  launched.parameters({{0, words({0x10000010})}});
  session::ProcessRecord& record = launched.picture.process.record;
  const auto out_of_reach = [&](std::uint64_t peers) {
    record.contexts[0].peers = peers;
    const auto arguments = launched.arguments();
    REQUIRE(arguments.size() == 1);
    CHECK(arguments[0].matters() == arguments[0].out_of_reach);
    return arguments[0].out_of_reach;
  };
  constexpr std::uint64_t kKnown = wire::context::kPeersKnown;
  session::Context other = record.contexts[0];
  other.device = 1;
  record.contexts.push_back(other);
  record.allocations[0].context = 0;
  CHECK(!out_of_reach(kKnown));
  record.allocations[0].context = 1;
  CHECK(out_of_reach(kKnown));
  CHECK(out_of_reach(kKnown | 1));
  CHECK(!out_of_reach(kKnown | 2));
  CHECK(!out_of_reach(0));  // the recorder did not store the peers
  CHECK(launched.arguments()[0].may_be_out_of_reach);
  SUBCASE("pool memory has separate access rights") { record.allocations[0].kind = wire::allocation::Kind::ordered; }
  SUBCASE("an unknown context") { record.allocations[0].context = 7; }
  SUBCASE("another context of the device") { record.contexts[1].device = 0; }
  SUBCASE("a node of a graph may run on another device than its launch") {
    constexpr std::uint64_t kOfNode = std::uint64_t{3} << 32 | 1;
    session::GraphNode node;
    analyse::Candidate candidate;
    launched.operation().kind = wire::operation::Kind::graph;
    launched.operation().graph = 3;
    candidate.operation = &launched.operation();
    candidate.node = &node;
    candidate.node_index = 2;
    record.arguments.push_back({kOfNode, wire::intern::kOfNode, 0, {{0, words({0x10000010})}}});
    launched.failure.candidates = {candidate};
    const auto arguments = analyse::arguments_of(launched.failure).arguments;
    REQUIRE(arguments.size() == 1);
    CHECK((!arguments[0].out_of_reach && arguments[0].may_be_out_of_reach));
    return;
  }
  CHECK(!out_of_reach(kKnown));
  CHECK(launched.arguments()[0].may_be_out_of_reach);
}

TEST_CASE("a table belongs to the nearest pointer below it") {
  std::vector<analyse::OperationArgument> arguments(3);
  const session::Allocation memory, other;
  for (analyse::OperationArgument& each : arguments) each.where.allocation = &memory;
  arguments[0].pointer = 0x1000;
  arguments[1].pointer = 0x1800;
  arguments[2].pointer = 0x2000;
  const auto nearest = [&](std::uint64_t address) {
    std::size_t found = 3;
    for (std::size_t i = 0; i < 3; ++i) {
      if (analyse::is_nearest(i, address, arguments)) found = found == 3 ? i : 4;
    }
    return found;
  };
  CHECK(nearest(0x1000) == 0);
  CHECK(nearest(0x1900) == 1);
  CHECK(nearest(0x3000) == 2);
  arguments[1].pointer = 0x1000;
  CHECK(nearest(0x1900) == 0);  // the first of equal ones
  arguments[0].where.allocation = &other;
  arguments[2].where.allocation = &other;
  CHECK(analyse::is_nearest(1, 0x3000, arguments));
}

TEST_CASE("memory that a graph allocates is not recorded") {
  session::ProcessRecord record;
  CHECK(analyse::knows_all_allocations(record));
  record.graphs.emplace_back().nodes.emplace_back().type = wire::graph_node::kAllocation;
  CHECK(!analyse::knows_all_allocations(record));
}

TEST_CASE("parameters of another launch are not used") {
  Launched launched;
  launched.parameters({{0, words({0x20000010})}}, 2);
  CHECK(launched.arguments().empty());
}

TEST_CASE("a word of up to 48 bits may be an address, as on Arm") {
  Launched launched;
  launched.parameters({{0, words({0xffff00001000})}, {8, words({0x1000000001000})}});
  const auto arguments = launched.arguments();
  REQUIRE(arguments.size() == 2);
  CHECK(arguments[0].pointer == 0xffff00001000);
  CHECK_FALSE(arguments[1].pointer);
}

TEST_CASE("a copy reaches past the end of the memory that it begins in") {
  Launched launched;
  session::Operation& copy = launched.operation();
  copy.kind = wire::operation::Kind::copy;
  copy.argument = 0x900;
  copy.destination = 0x10000800;
  copy.source = 0x7fff0000;
  const auto arguments = launched.arguments();
  REQUIRE(arguments.size() == 2);
  CHECK((arguments[0].name == "destination" && arguments[0].past_end() == 0x100 && arguments[0].matters()));
  CHECK((arguments[1].where.state == State::unknown && !arguments[1].matters()));
}

TEST_CASE("a host address that is no longer pinned belongs to no allocation") {
  Launched launched;
  launched.picture.process.record.allocations[1].kind = wire::allocation::Kind::pinned;
  session::Operation& copy = launched.operation();
  copy.kind = wire::operation::Kind::copy;
  copy.source = 0x20000000;
  CHECK(!launched.arguments().front().matters());
}

namespace {

// A copy of 16 bytes that the driver refused. The memory at 0x10000000 is live, and that at 0x20000000 was freed.
struct Refused : Launched {
  explicit Refused(const char* call) {
    operation().kind = wire::operation::Kind::copy;
    operation().argument = 16;
    session::FailedCall error;
    error.code = failure.code = 1;
    error.thread = 0;
    error.operation = 1;
    error.started = 100;
    error.ticks = 110;
    error.call = call;
    record().errors = {error};
    failure.kind = analyse::Kind::sync_error;
  }
  session::ProcessRecord& record() { return picture.process.record; }
  // Returns the states of the destination's memory and the source's memory.
  std::pair<State, State> states(std::uint64_t destination, std::uint64_t source) {
    operation().destination = destination;
    operation().source = source;
    failure.reported = &record().errors.front();
    const auto found = analyse::arguments_of(failure).arguments;
    if (found.size() != 2) return {State::unknown, State::unknown};
    return {found[0].where.state, found[1].where.state};
  }
};

}  // namespace

TEST_CASE("the states of a rejected copy's addresses, as far as the record proves them") {
  using Pair = std::pair<State, State>;
  Refused between("cuMemcpyDtoD_v2");
  CHECK(between.states(0x10000000, 0x20000000) == Pair(State::live, State::freed));
  CHECK(between.states(0x10001008, 0x30000000) == Pair(State::unknown, State::unknown));  // the memory after the
                                                                                          // allocation is unknown
  between.record().allocations[0].kind = wire::allocation::Kind::pinned;
  CHECK(between.states(0x10000000, 0x20000000) == Pair(State::unknown, State::freed));

  Refused from_host("cuMemcpyHtoD_v2");
  CHECK(from_host.states(0x20000000, 0x20000000) == Pair(State::freed, State::unknown));
  CHECK(from_host.states(0x20000000, 0x10000000) == Pair(State::freed, State::live));
  from_host.record().allocations[0].kind = wire::allocation::Kind::managed;
  CHECK(from_host.states(0x10000000, 0x10000000) == Pair(State::live, State::unknown));
  CHECK(Refused("cuMemcpyDtoHAsync_v2").states(0x20000000, 0x20000000) == Pair(State::unknown, State::freed));
  CHECK(Refused("cuMemcpyAtoH_v2").states(0x20000000, 0x20000000) == Pair(State::unknown, State::freed));

  SUBCASE("not if an allocation was not recorded") { from_host.record().dropped_allocations = 1; }
  SUBCASE("not for another code") { from_host.failure.code = 400; }
  SUBCASE("not if the newest operation is an earlier call's") { from_host.operation().ticks = 90; }
  CHECK(from_host.states(0x20000000, 0x20000000).first == State::unknown);
}
