// Tests how an address relates to memory: each relation, and the nearest case that has another one.
#include "diagnose/facts/address_relation.h"

#include <doctest/doctest.h>

namespace where_is_test {

using namespace cudadiag::diagnose;
using cudadiag::analyse::OperationArgument;
using State = cudadiag::analyse::Whereabouts::State;

namespace {

const GpuMemory kAllKnown(true, false), kSomeKnown(false, false), kHostToo(true, true);
constexpr std::int64_t kBegin = 0x7a0000000000;

// A pointer to the second half of live memory of 4096 bytes.
struct Pointer {
  Pointer() {
    allocation.address = kBegin;
    allocation.bytes = 4096;
    argument.pointer = kBegin + 2048;
    argument.where = {State::live, &allocation, 4096};
  }
  Placement at(std::int64_t first, std::int64_t last, std::uint32_t bytes = 4) const {
    return where_is(AccessAddresses{kBegin + first, kBegin + last, bytes}, &argument, kAllKnown);
  }
  cudadiag::session::Allocation allocation;
  OperationArgument argument;
};

Placement at_address(std::int64_t address, const OperationArgument* through = nullptr,
                     const GpuMemory& memory = kSomeKnown) {
  return where_is(AccessAddresses{address, address, 4}, through, memory);
}

OperationArgument pointing_to(std::uint64_t value) {
  OperationArgument argument;
  argument.pointer = value;
  return argument;
}

}  // namespace

TEST_CASE_FIXTURE(Pointer, "the whole access counts, from the beginning of the memory to its end") {
  CHECK(at(0, 4092).relation == Relation::inside);
  CHECK(at(0, 4093).relation == Relation::past_end);
  CHECK(at(0, 4093).distance == 0);
  CHECK(at(0, 5000).distance == 904);
  CHECK(at(-4, 0).relation == Relation::before);
  CHECK(at(-4, 0).distance == 4);
  CHECK(at(4096, 4096, 0).relation == Relation::past_end);  // even if the size of the access is unknown
}

TEST_CASE_FIXTURE(Pointer, "a pointer to freed or distant memory explains every address, and an unknown one too") {
  CHECK(where_is(std::nullopt, &argument, kAllKnown).relation == Relation::unknown);
  SUBCASE("freed") {
    argument.where.state = State::freed;
    CHECK(at(0, 0).relation == Relation::freed);
    CHECK(where_is(std::nullopt, &argument, kAllKnown).relation == Relation::freed);
  }
  SUBCASE("of another device") {
    argument.out_of_reach = true;
    CHECK(where_is(std::nullopt, &argument, kAllKnown).relation == Relation::other_device);
  }
  SUBCASE("null, with an offset of any size") {
    argument = pointing_to(0);
    CHECK(at_address(1 << 30, &argument).relation == Relation::null);
  }
}

TEST_CASE("a small number is not a null pointer") {
  const OperationArgument number = pointing_to(5700);
  CHECK(at_address(5704, &number).relation == Relation::never_allocated);
  CHECK(at_address(5704).relation == Relation::null);  // computed from no parameter
  CHECK(at_address(kNullPage).relation == Relation::never_allocated);
  CHECK(at_address(kLowestAddress).relation == Relation::unknown);
}

TEST_CASE("an address outside all memory was never allocated only if all allocations are known") {
  const OperationArgument pointer = pointing_to(0x7b0000000000);
  CHECK(at_address(0x7b0000000008, &pointer, kAllKnown).relation == Relation::never_allocated);
  CHECK(at_address(0x7b0000000008, &pointer, kSomeKnown).relation == Relation::unknown);
}

TEST_CASE_FIXTURE(Pointer, "the process's heap is host memory unless CUDA has registered it") {
  const OperationArgument heap = pointing_to(0x55aa00001000);
  CHECK(at_address(0x55aa00001008, &heap).relation == Relation::host);
  CHECK(at_address(0x55aa00001008).relation == Relation::host);
  argument.pointer = allocation.address = 0x55aa00001000;
  CHECK(at_address(0x55aa00001008, &argument).relation == Relation::inside);
}

TEST_CASE_FIXTURE(Pointer, "if the GPU reads host memory, only null and impossible addresses are known to be invalid") {
  const OperationArgument heap = pointing_to(0x55aa00001000), mapped = pointing_to(0x7b0000000000);
  CHECK(where_is(std::nullopt, &heap, kHostToo).relation == Relation::unknown);
  CHECK(at_address(0x55aa00001008, &heap, kHostToo).relation == Relation::unknown);
  CHECK(at_address(0x55aa00001008, nullptr, kHostToo).relation == Relation::unknown);
  CHECK(at_address(0x7b0000000008, &mapped, kHostToo).relation == Relation::unknown);
  CHECK(at_address(0x400008, nullptr, kHostToo).relation == Relation::unknown);  // the program's own data
  CHECK(at_address(8, nullptr, kHostToo).relation == Relation::null);
  CHECK(at_address(kBeyondAddresses, &mapped, kHostToo).relation == Relation::never_allocated);
  CHECK(where_is(AccessAddresses{kBegin, kBegin + 4096, 4}, &argument, kHostToo).relation == Relation::past_end);
  CHECK(where_from(kBegin, kBegin + 4100, 4096, kHostToo).relation == Relation::unknown);
}

TEST_CASE("a 32-bit overflow explains only distances near 2^32 elements") {
  Pointer memory;
  constexpr std::int64_t kWrap = std::int64_t{4} << 32;
  CHECK(memory.at(kWrap - 4, kWrap - 4).overflow);
  CHECK_FALSE(memory.at(kWrap / 2, kWrap / 2).overflow);
  CHECK_FALSE(memory.at(-4, -4).overflow);
}

TEST_CASE("shared memory ends with its size, and has an end only if that is known") {
  CHECK(where_in_shared(2047, 2048).relation == Relation::inside);
  CHECK(where_in_shared(2048, 2048).relation == Relation::past_end);
  CHECK(where_in_shared(2048, 0).relation == Relation::unknown);
}

TEST_CASE("a range of bytes that reaches past both ends is past the end") {
  const auto bytes = [](std::int64_t first, std::int64_t last) {
    return where_in({kBegin + first, kBegin + last, 1}, kBegin, 4096).relation;
  };
  CHECK(bytes(0, 4095) == Relation::inside);
  CHECK(bytes(-1, 4095) == Relation::before);
  CHECK(bytes(0, 4096) == Relation::past_end);
  CHECK(bytes(-1, 4096) == Relation::past_end);
}

TEST_CASE("an address too far from its pointer is outside of the pointer's memory, even if that memory is unknown") {
  CHECK(where_from(kBegin, kBegin + 4095, 4096, kAllKnown).relation == Relation::unknown);
  CHECK(where_from(kBegin, kBegin + 4100, 4096, kAllKnown).relation == Relation::past_end);
  CHECK(where_from(kBegin, kBegin + 4100, 4096, kAllKnown).distance == 4);
  CHECK(where_from(kBegin, kBegin - 4100, 4096, kAllKnown).relation == Relation::before);
  CHECK(where_from(kLowestAddress - 1, kBegin, 4096, kAllKnown).relation ==
        Relation::unknown);  // the pointer is only a number
  CHECK(where_from(kBeyondAddresses, kBegin, 4096, kAllKnown).relation == Relation::unknown);
}

TEST_CASE("an address is misaligned for some thread, or for none") {
  CHECK(misalignment(0x1004, 16).distance == 4);
  CHECK(misalignment(0x1000, 16, 24).distance == 8);
  CHECK(misalignment(0x1000, 16, 32).relation == Relation::inside);
  CHECK(misalignment(0x1001, 1).relation == Relation::unknown);
}

}  // namespace where_is_test
