// Tests which access must have failed, as deduced from the kernel's code and the memory passed to it. For each rule,
// there is also a similar case that must not match.
#include <doctest/doctest.h>

#include "diagnose/failure/failed_access.h"

namespace access_by_code_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;
using analyse::AllocationMap;
using sass::CertainAccess;
using sass::CertainAccesses;
using wire::allocation::Kind;

namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::uint64_t kFirst = 0x7a0000000000;

struct Fixture {
  session::Allocation& allocation(std::uint64_t address, std::uint64_t bytes, Kind kind = Kind::device) {
    session::Allocation& made = record.allocations.emplace_back();
    made.address = address;
    made.bytes = bytes;
    made.kind = kind;
    made.serial = record.allocations.size();
    made.made = 1;
    return made;
  }
  void word(std::uint64_t value) { values.push_back(value); }
  // Adds an access through the pointer in the parameter word at this offset. Without `word`, the access is at constant
  // addresses.
  CertainAccess& access(std::optional<std::uint32_t> word, std::int64_t least, std::int64_t most) {
    CertainAccess& made = accesses.accesses.emplace_back();
    made.instruction = static_cast<std::uint32_t>(16 * accesses.accesses.size());
    made.bytes = 4;
    made.parameter = word;
    made.least = least;
    made.most = most;
    made.step = 4;
    return made;
  }
  // Adds a pointer at this byte of the memory of the first parameter. Returns its word.
  std::uint32_t loaded(std::uint64_t value, std::uint64_t byte) {
    in_memory.emplace_back(value, byte);
    return sass::word_in(0, byte);
  }
  std::optional<AccessByCode> run(std::uint32_t error = 700) {
    map.emplace(record, 10);
    launch.emplace(FailedLaunch{error, {}, *map, {all_known, reads_host_memory}, 1});
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      analyse::OperationArgument& word = launch->words.emplace_back();
      word.word = 8 * i;
      word.pointer = values[i];
      word.where = map->find(values[i]);
      word.parameter = i + 1;
      word.may_be_out_of_reach = may_be_out_of_reach == word.word;
    }
    for (const auto& [value, byte] : in_memory) {
      analyse::OperationArgument& word = launch->words.emplace_back();
      word.word = sass::word_in(0, byte);
      word.pointer = value;
      word.where = map->find(value);
      word.parameter = 1;
      word.loaded = {byte};
    }
    return access_by_code(accesses, *launch);
  }

  session::ProcessRecord record;
  std::vector<std::uint64_t> values;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> in_memory;  // values, and their bytes in memory
  CertainAccesses accesses;
  bool all_known = true, reads_host_memory = false;
  std::optional<std::uint32_t> may_be_out_of_reach;  // a word
  std::optional<AllocationMap> map;
  std::optional<FailedLaunch> launch;
};

sass::OpenAccess open_access(std::vector<std::uint32_t> words) {
  sass::OpenAccess open;
  open.kind = sass::AccessKind::store;
  open.bytes = 4;
  open.words = std::move(words);
  return open;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "an access far outside its allocation must have failed") {
  allocation(kFirst, 4 * kMiB);
  word(kFirst);
  SUBCASE("past its end") {
    access(0, 0, 3004 * kMiB);
    const auto found = run();
    REQUIRE(found);
    CHECK(found->access.relation == Relation::past_end);
    CHECK(found->access.distance == 3000 * kMiB);
    CHECK(found->access.parameter == 1);
    CHECK(found->access.by_code);
    CHECK_FALSE(found->access.overflow);
    reads_host_memory = true;  // the host may have memory there
    CHECK_FALSE(run());
  }
  SUBCASE("before its beginning") {
    access(0, -3000 * kMiB, 0);
    const auto found = run();
    REQUIRE(found);
    CHECK(found->access.relation == Relation::before);
    CHECK(found->access.distance == 3000 * kMiB);
  }
}

// The driver maps memory of its own next to allocations. On an H200, stores 200 MiB past an allocation succeeded.
TEST_CASE_FIXTURE(Fixture, "an access near its allocation need not fail") {
  allocation(kFirst, 3 * kMiB);
  word(kFirst);
  SUBCASE("after its last page") {
    access(0, 0, 203 * kMiB);
    CHECK_FALSE(run());
  }
  SUBCASE("before it") {
    access(0, -4, 0);
    CHECK_FALSE(run());
  }
  access(0, 0, 4 * kMiB - 4);
  SUBCASE("where another access may be the reason") { CHECK_FALSE(run()); }
  SUBCASE("unless the kernel makes no other access") {
    accesses.all_listed = true;
    const auto found = run();
    REQUIRE(found);
    CHECK(found->access.distance == kMiB - 4);
  }
}

TEST_CASE_FIXTURE(Fixture, "an access that ends with its allocation is right") {
  allocation(kFirst, 4 * kMiB);
  word(kFirst);
  accesses.all_listed = true;
  access(0, 0, 4 * kMiB - 4);
  CHECK_FALSE(run());
  accesses.accesses.front().most += 1;
  CHECK(run()->access.distance == 0);
}

TEST_CASE_FIXTURE(Fixture, "an access into other live memory does not fail") {
  allocation(kFirst, 4 * kMiB);
  allocation(kFirst + 8 * kMiB, 4 * kMiB);
  word(kFirst);
  CertainAccess& far = access(0, 0, 8 * kMiB);
  CHECK_FALSE(run());
  accesses.all_listed = true;  // so no other access can have failed
  CHECK_FALSE(run());
  far.most = 3000 * kMiB;
  CHECK(run());
}

TEST_CASE_FIXTURE(Fixture, "a pool may have mapped more memory than it has allocated") {
  allocation(kFirst, 4 * kMiB, Kind::ordered);
  word(kFirst);
  CertainAccess& far = access(0, 0, 512 * kMiB);
  CHECK_FALSE(run());
  far.most = 4096 * kMiB;
  CHECK(run());
}

TEST_CASE_FIXTURE(Fixture, "memory of its own ends sooner than a pool") {
  allocation(kFirst, 4 * kMiB);
  word(kFirst);
  access(0, 0, 512 * kMiB);
  CHECK(run());
}

TEST_CASE_FIXTURE(Fixture, "of accesses through two parameters, the one that leaves its memory farther is named") {
  allocation(kFirst, 4 * kMiB);
  allocation(kFirst + 1024 * kMiB, 4 * kMiB);
  word(kFirst);
  word(kFirst + 1024 * kMiB);
  access(0, 0, 3000 * kMiB);
  SUBCASE("both must fail") {
    access(8, 0, 3004 * kMiB);
    REQUIRE(run());
    CHECK(run()->access.parameter == 2);
    accesses.accesses.back().most = 3000 * kMiB;
    CHECK(run()->access.parameter == 1);
  }
  SUBCASE("unless they leave it on different sides") {
    access(8, -3000 * kMiB, 0);
    CHECK_FALSE(run());
  }
  SUBCASE("the other may fail") {
    access(8, 0, 100 * kMiB);
    accesses.all_listed = true;
    REQUIRE(run());
    CHECK(run()->access.parameter == 1);
  }
  SUBCASE("one is certain, and an unknown one may fail besides") {
    access(8, 0, 100 * kMiB);
    REQUIRE(run());
    CHECK(run()->access.parameter == 1);
  }
  SUBCASE("one need not") {
    access(8, 0, 0);
    REQUIRE(run());
    CHECK(run()->access.parameter == 1);
  }
}

TEST_CASE_FIXTURE(Fixture, "of accesses through one parameter, the farthest is named, or the first of equal ones") {
  allocation(kFirst, 4 * kMiB);
  word(kFirst);
  access(0, 0, 3016 * kMiB);
  access(0, 0, 3032 * kMiB).kind = sass::AccessKind::store;
  access(0, 0, 3032 * kMiB).kind = sass::AccessKind::atomic;
  const auto found = run();
  REQUIRE(found);
  CHECK(found->access.kind == sass::AccessKind::store);
  CHECK(found->access.distance == 3028 * kMiB);
}

TEST_CASE_FIXTURE(Fixture, "a distance that 2^32 elements explain is an overflow") {
  allocation(kFirst, 2500 * kMiB);
  word(kFirst);
  access(0, -2048 * kMiB, 0).bytes = 1;
  const auto found = run();
  REQUIRE(found);
  CHECK(found->access.relation == Relation::before);
  CHECK(found->access.overflow);
}

TEST_CASE_FIXTURE(Fixture, "a few elements outside a buffer of more than 2^32 elements are not an overflow") {
  allocation(kFirst, 5000 * kMiB);
  word(kFirst);
  accesses.all_listed = true;
  SUBCASE("before") { access(0, -1, 0).bytes = 1; }
  SUBCASE("after") { access(0, 0, 5000 * kMiB).bytes = 1; }
  REQUIRE(run());
  CHECK_FALSE(run()->access.overflow);
}

TEST_CASE_FIXTURE(Fixture, "a harmless overrun is not blamed if another access may have failed") {
  allocation(kFirst, 4 * kMiB);
  allocation(kFirst + 1024 * kMiB, 4 * kMiB, Kind::pinned).freed = 5;
  word(kFirst);
  word(kFirst + 1024 * kMiB);
  word(0);
  accesses.all_listed = true;
  access(0, 0, 4 * kMiB);
  SUBCASE("") { CHECK(run()); }
  SUBCASE("through freed memory of the host") {
    access(8, 0, 0);
    CHECK_FALSE(run());
  }
  SUBCASE("and an access before a null pointer is certain to fail") {
    access(16, -128, 0);
    CHECK(run()->access.relation == Relation::null);
  }
  SUBCASE("or if the error means an invalid address space") { CHECK_FALSE(run(717)); }
}

TEST_CASE_FIXTURE(Fixture, "an access through a null pointer or a number must have failed") {
  word(0);
  SUBCASE("null") {
    access(0, 0, 124);
    const auto found = run();
    REQUIRE(found);
    CHECK(found->access.relation == Relation::null);
    CHECK(found->access.parameter == 1);
    CHECK_FALSE(found->access.distance);
  }
  SUBCASE("null and an offset") {
    access(0, 256 * kMiB, 256 * kMiB + 124);
    const auto found = run();
    REQUIRE(found);
    CHECK(found->access.relation == Relation::null);
  }
  SUBCASE("a number that is in no known word") {
    access(std::nullopt, 0, 124);
    CHECK_FALSE(run());
  }
}

TEST_CASE_FIXTURE(Fixture, "an address about which nothing is known may be right") {
  word(0x7b0000000000);
  access(0, 0, 124);
  SUBCASE("where another access may be the reason") { CHECK_FALSE(run()); }
  SUBCASE("unless the kernel makes no other access") {
    accesses.all_listed = true;
    const auto found = run();
    REQUIRE(found);
    CHECK(found->access.relation == Relation::never_allocated);
  }
}

TEST_CASE_FIXTURE(Fixture, "an address of the host's heap or stack must have failed") {
  word(0x555500000000);
  access(0, 0, 124);
  const auto found = run();
  REQUIRE(found);
  CHECK(found->access.relation == Relation::host);
  reads_host_memory = true;
  CHECK_FALSE(run());
}

TEST_CASE_FIXTURE(Fixture, "of all accesses, those that cannot fail prove the others only if their memory lasts") {
  allocation(kFirst, 4 * kMiB).freed = 20;
  allocation(kFirst + (1ull << 34), 4 * kMiB);
  word(kFirst);
  word(kFirst + (1ull << 34));
  access(0, 0, 252);
  access(8, 0, 4 * kMiB + 60);
  accesses.all_listed = true;
  CHECK_FALSE(run());
  record.allocations.front().freed = 0;
  CHECK(run()->access.parameter == 2);
}

TEST_CASE_FIXTURE(Fixture, "an access to freed memory must have failed if that was a large separate allocation") {
  session::Allocation& freed = allocation(kFirst, 4 * kMiB);
  freed.freed = 5;
  word(kFirst);
  access(0, 0, 124);
  SUBCASE("a large one") {
    const auto found = run();
    REQUIRE(found);
    CHECK(found->access.relation == Relation::freed);
  }
  SUBCASE("a small one shares its page") {
    freed.bytes = 4096;
    CHECK_FALSE(run());
  }
  SUBCASE("a pool keeps it mapped") {
    freed.kind = Kind::ordered;
    CHECK_FALSE(run());
    accesses.all_listed = true;
    CHECK(run());
  }
}

TEST_CASE_FIXTURE(Fixture, "an access whose address is not a multiple of its size must have failed as misaligned") {
  allocation(kFirst, 4 * kMiB);
  word(kFirst + 4);
  CertainAccess& wide = access(0, 0, 1024);
  wide.bytes = 16;
  wide.step = 16;
  SUBCASE("for every thread") {
    const auto found = run(716);
    REQUIRE(found);
    CHECK(found->access.relation == Relation::misaligned);
    CHECK(found->access.distance == 4);
  }
  SUBCASE("for some threads") {
    wide.least = 12;
    wide.step = 24;
    CHECK(run(716)->access.distance == 8);
  }
  SUBCASE("for none") {
    wide.least = 12;
    CHECK_FALSE(run(716));
  }
  SUBCASE("which says nothing about other errors") { CHECK_FALSE(run(700)); }
}

TEST_CASE_FIXTURE(Fixture, "shared and local memory do not belong to an allocation") {
  word(0);
  access(0, 0, 124).space = sass::Space::shared;
  CHECK_FALSE(run());
}

TEST_CASE_FIXTURE(Fixture, "a pointer that was read from memory is named by its byte there") {
  allocation(kFirst, 4096);
  for (std::uint64_t row = 1; row <= 3; ++row) allocation(kFirst + row * 1024 * kMiB, 4 * kMiB);
  word(kFirst);
  accesses.all_listed = true;
  access(0, 0, 32);
  for (std::uint64_t row = 1; row <= 3; ++row) access(loaded(kFirst + row * 1024 * kMiB, 16 * row - 16), 0, 1024);
  SUBCASE("if one points to freed memory") {
    record.allocations[2].freed = 5;
    const auto found = run();
    REQUIRE(found);
    CHECK(found->access.relation == Relation::freed);
    CHECK(found->access.parameter == 1);
    CHECK(found->access.loaded == std::vector<std::uint64_t>{16});
    CHECK(through_words(found->access) == "byte 16 of parameter 1's memory");
  }
  SUBCASE("if several do, by the first") {
    record.allocations[2].freed = record.allocations[3].freed = 5;
    REQUIRE(run());
    CHECK(run()->access.loaded == std::vector<std::uint64_t>{16});
  }
  SUBCASE("unless the table is bad in two ways") {
    record.allocations[2].freed = 5;
    in_memory[2].first = 0;
    CHECK_FALSE(run());
  }
  SUBCASE("unless none is bad") { CHECK_FALSE(run()); }
}

TEST_CASE("a pointer that was read through two others is named by all bytes") {
  Access access;
  access.parameter = 2;
  access.parameter_byte = 8;
  access.loaded = {24, 0};
  CHECK(through_words(access) == "byte 0 of the memory at byte 24 of parameter 2 at byte 8's memory");
}

TEST_CASE_FIXTURE(Fixture, "a number of more than 48 bits in a table is no address") {
  allocation(kFirst, 4 * kMiB);
  word(kFirst);
  access(loaded(std::uint64_t{3} << 48 | kFirst, 0), 0, 252);
  const auto found = run();
  REQUIRE(found);
  CHECK(found->access.relation == Relation::never_allocated);
  SUBCASE("a number of 48 bits may be one that was not recorded") {
    in_memory = {{(std::uint64_t{1} << 48) - 4096, 0}};
    CHECK_FALSE(run());
  }
}

TEST_CASE_FIXTURE(Fixture, "a sentinel of all ones is misaligned") {
  allocation(kFirst, 4 * kMiB);
  word(kFirst);
  CertainAccess& follows = access(loaded(~std::uint64_t{0}, 16), 0, 0);
  follows.bytes = 8;
  const auto found = run(716);
  REQUIRE(found);
  CHECK(found->access.relation == Relation::misaligned);
  CHECK(found->access.distance == 7);
  follows.bytes = 1;
  CHECK_FALSE(run(716));
}

TEST_CASE_FIXTURE(Fixture, "if all other accesses are valid, the open one has left the memory of its pointer") {
  allocation(kFirst, 4 * kMiB);
  allocation(kFirst + (1ull << 34), 64 * kMiB);
  word(kFirst);
  word(kFirst + (1ull << 34));
  access(0, 0, 252);
  accesses.all_listed = true;
  accesses.open = {open_access({8})};
  const auto found = run();
  REQUIRE(found);
  CHECK(found->access.outside);
  CHECK(found->access.parameter == 2);
  CHECK(found->access.kind == sass::AccessKind::store);
  CHECK(found->access.relation == Relation::unknown);
  SUBCASE("unless it may go elsewhere") {
    accesses.open.front().words.clear();
    CHECK_FALSE(run());
  }
  SUBCASE("unless another one may go through another pointer") {
    accesses.open.push_back(open_access({0}));
    CHECK_FALSE(run());
  }
  SUBCASE("unless the code cannot be followed") {
    accesses.all_listed = false;
    CHECK_FALSE(run());
  }
  SUBCASE("unless another access may have failed") {
    access(0, 0, 200 * kMiB);
    CHECK_FALSE(run());
  }
  SUBCASE("a known access through its pointer may have failed too") {
    access(8, 0, 200 * kMiB);
    CHECK(run()->access.outside);
  }
  SUBCASE("unless its memory is freed while the kernel may run") {
    record.allocations.back().freed = 20;
    CHECK_FALSE(run());
  }
  SUBCASE("unless the memory of another access is freed while the kernel may run") {
    session::Allocation& other = record.allocations.front();
    other.kind = Kind::ordered;
    other.freed = 20;
    other.freed_stream = 2;
    CHECK_FALSE(run());
    other.freed_stream = 1;  // the kernel's own
    CHECK(run());
  }
  SUBCASE("unless the kernel may have no access to the memory of another") {
    may_be_out_of_reach = 0;
    CHECK_FALSE(run());
    may_be_out_of_reach.reset();
    record.allocations.front().kind = Kind::mapped;
    CHECK_FALSE(run());
    record.allocations.front().flags = wire::allocation::kWritable;
    CHECK(run());
  }
  SUBCASE("unless an address is misaligned") { CHECK_FALSE(run(716)); }
}

TEST_CASE_FIXTURE(Fixture, "if all other accesses are valid, a pointer that the kernel read from memory is bad") {
  allocation(kFirst, 4 * kMiB);
  allocation(kFirst + (1ull << 34), 64 * kMiB);
  word(kFirst);
  word(kFirst + (1ull << 34));
  access(0, 0, 252);
  access(8, 0, 252);
  accesses.all_listed = true;
  sass::OpenAccess& open = accesses.open.emplace_back(open_access({}));
  open.from_memory = true;
  open.table = 8;
  const auto found = run();
  REQUIRE(found);
  CHECK(found->access.from_memory);
  CHECK(found->access.by_code);
  CHECK(found->access.kind == sass::AccessKind::store);
  CHECK(found->access.relation == Relation::unknown);
  CHECK_FALSE(found->access.parameter);
  CHECK(found->through == nullptr);
  REQUIRE(found->table);
  CHECK(found->table->parameter == 2);
  SUBCASE("of several tables, none is named") {
    accesses.open.push_back(open);
    accesses.open.back().table = 0;
    REQUIRE(run());
    CHECK(run()->table == nullptr);
  }
  SUBCASE("unless it may come from elsewhere") {
    open.from_memory = false;
    CHECK_FALSE(run());
  }
  SUBCASE("unless another access may have failed") {
    SUBCASE("that is open") { accesses.open.push_back(open_access({})); }
    SUBCASE("that leaves its memory") { access(0, 0, 5 * kMiB); }
    SUBCASE("whose memory is freed while the kernel may run") { record.allocations.front().freed = 20; }
    SUBCASE("that is not listed") { accesses.all_listed = false; }
    const auto other = run();
    CHECK((!other || !other->access.from_memory));
  }
  SUBCASE("unless the error has other reasons, too") {
    CHECK_FALSE(run(716));
    CHECK_FALSE(run(719));
  }
}

TEST_CASE_FIXTURE(Fixture, "if all other accesses are valid, one to shared memory has left it") {
  allocation(kFirst, 4 * kMiB);
  word(kFirst);
  access(0, 0, 252);
  accesses.all_listed = true;
  sass::OpenAccess& open = accesses.open.emplace_back(open_access({}));
  open.space = sass::Space::shared;
  const auto found = run();
  REQUIRE(found);
  CHECK(found->access.outside);
  CHECK(found->access.space == sass::Space::shared);
  CHECK(found->access.bytes == 4);
  SUBCASE("unless one to local memory may have failed") {
    accesses.open.push_back(open);
    accesses.open.back().space = sass::Space::local;
    CHECK_FALSE(run());
  }
  SUBCASE("unless the error has other reasons, too") { CHECK_FALSE(run(719)); }
}

TEST_CASE_FIXTURE(Fixture, "an access that only some threads may make") {
  allocation(kFirst, 4 * kMiB);
  allocation(kFirst + (1ull << 34), 64 * kMiB);
  word(kFirst);
  word(kFirst + (1ull << 34));
  access(0, 0, 252);
  accesses.all_listed = true;
  const auto may_access = [&](std::uint32_t through, std::int64_t most) {
    CertainAccess& made = accesses.possible.emplace_back();
    made.kind = sass::AccessKind::store;
    made.bytes = 4;
    made.parameter = through;
    made.most = most;
  };
  SUBCASE("is harmless inside its memory") {
    may_access(0, 252);
    CHECK_FALSE(run());
    accesses.open = {open_access({8})};
    CHECK(run()->access.parameter == 2);
  }
  SUBCASE("must have failed if no other can have failed") {
    may_access(8, 64 * kMiB);
    const auto found = run();
    REQUIRE(found);
    CHECK(found->access.outside);
    CHECK(found->access.parameter == 2);
    CHECK(found->access.kind == sass::AccessKind::store);
    may_access(0, 4 * kMiB);
    CHECK_FALSE(run());
  }
  SUBCASE("may have failed instead of one near its memory") {
    accesses.accesses.front().most = 5 * kMiB;
    CHECK(run());
    may_access(8, 64 * kMiB);
    CHECK_FALSE(run());
  }
}

}  // namespace access_by_code_test
