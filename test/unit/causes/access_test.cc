// Tests the causes of failed accesses with a known address.
#include <doctest/doctest.h>

#include "unit/causes/failed_case.h"

using namespace cudadiag;
using namespace cudadiag::causes;

namespace {

Failed access(Relation relation, std::optional<std::uint64_t> distance = {}) {
  Failed failed = gpu_error(relation == Relation::misaligned ? 716 : 700);
  failed.finding.access = Access{
      .bytes = 4, .parameter = 1, .allocation = diagnose::PointedMemory{}, .relation = relation, .distance = distance};
  failed.finding.access->allocation->bytes = 16u << 20;
  failed.finding.access->allocation->allocated = diagnose::Location{.file = "scale.cu", .function = "main", .line = 19};
  return failed;
}

}  // namespace

TEST_CASE("an access past the end of the parameter's memory") {
  Failed failed = access(Relation::past_end, 4096);
  auto cause = explain(failed);
  REQUIRE(cause);
  CHECK(cause->id == "address-past-end");
  CHECK(cause->certain);
  CHECK(cause->text == "scale() reads 4.0 KiB past the end of parameter 1: 16.0 MiB allocated at scale.cu:19, main");
  CHECK(cause->fix.at(0) == "before the access, compare the index with the number of elements: if (i < n)");
  SUBCASE("exactly at the end") {
    failed.finding.access->distance = 0;
    CHECK(explain(failed)->text.starts_with("scale() reads just past the end of parameter 1"));
  }
  SUBCASE("off by 2^32 elements") {
    failed.finding.access->overflow = true;
    CHECK(explain(failed)->text.ends_with(
        "an overflowed 32-bit index into elements of 4 bytes would explain this distance"));
  }
  SUBCASE("memory allocated at an unknown line") {
    failed.finding.access->allocation->allocated.reset();
    CHECK(explain(failed)->text == "scale() reads 4.0 KiB past the end of parameter 1, which is 16.0 MiB long");
  }
  SUBCASE("shared memory") {
    failed.finding.access->space = sass::Space::shared;
    CHECK(explain(failed)->id == "shared-out-of-range");
    CHECK(explain(failed)->text == "scale() reads 4.0 KiB past the end of its block's shared memory");
    failed.finding.access->relation = Relation::unknown;
    CHECK(id_of(failed) == "none");
    failed.finding.access->outside = true;
    CHECK(explain(failed)->text == "scale() reads memory outside its block's shared memory; the distance is unknown");
  }
  SUBCASE("no cause without an access") {
    failed.finding.access.reset();
    CHECK(id_of(failed) == "none");
  }
}

TEST_CASE("an access before the beginning of the parameter's memory") {
  const auto cause = explain(access(Relation::before, 4));
  REQUIRE(cause);
  CHECK(cause->id == "address-before-allocation");
  CHECK(cause->text ==
        "scale() reads 4 bytes before the beginning of parameter 1: 16.0 MiB allocated at scale.cu:19, main");
}

TEST_CASE("freed memory that was found only by its address") {
  Failed freed = access(Relation::freed);
  freed.finding.access->parameter.reset();
  freed.finding.access->allocation->freed = diagnose::Location{.file = "scale.cu", .function = "main", .line = 30};
  CHECK(explain(freed)->text ==
        "scale() reads memory in an allocation of 16.0 MiB that was freed at scale.cu:30, main before the launch");
  freed.finding.launch->graph_node = diagnose::NodeNumber{1, 2};
  CHECK(explain(freed)->id == "stale-graph-pointer");
  CHECK(explain(freed)->text ==
        "scale() reads 16.0 MiB that were freed at scale.cu:30, main before this replay: a graph keeps the addresses "
        "that it was given");
  CHECK(explain(freed)->certain);
  freed.finding.access->relation = Relation::unknown;
  const auto other = explain(freed);
  CHECK((!other || other->id != "stale-graph-pointer"));
}

TEST_CASE("numbers that the kernel read from memory and used as addresses") {
  Failed number = access(Relation::never_allocated);
  number.finding.access->allocation.reset();
  number.finding.access->parameter.reset();
  number.finding.access->address = 0x17f26ebe00000;
  number.finding.access->from_memory = true;
  CHECK(explain(number)->id == "number-as-address");
  CHECK(explain(number)->text ==
        "scale() reads memory at 0x17f26ebe00000 through a pointer that it read from memory: a number, not an address");
  number.finding.access->address = 0x3eaaaaab3f000080;
  CHECK(
      explain(number)->text ==
      "scale() reads memory at 0x3eaaaaab3f000080 through a pointer that it read from memory: not an address, but the "
      "floats 0.5 and 0.3333");
  number.finding.access->address = 0x7f26ebe00000;
  CHECK((!explain(number) || explain(number)->id != "number-as-address"));
  // The exception says so, although the address is unknown.
  number.finding.access->address.reset();
  number.finding.access->relation = Relation::unknown;
  number.finding.device.emplace().exception = "Warp Out-of-range Address";
  CHECK(explain(number)->text ==
        "scale() reads memory through a pointer that it read from memory: a number, not an address");
  number.finding.access->space = sass::Space::generic;
  CHECK(explain(number)->id == "number-as-address");
  number.finding.access->from_memory = false;
  CHECK(explain(number)->id == "shared-out-of-range");
}

TEST_CASE("an address of unknown origin, and the nearest memory that the kernel received") {
  Failed failed = access(Relation::unknown);
  failed.finding.access->allocation.reset();
  failed.finding.access->parameter.reset();
  failed.finding.access->address = 0x7f36fa000000;
  CHECK(id_of(failed) == "none");
  diagnose::PointedMemory& nearest = failed.finding.access->nearest.emplace();
  nearest.address = 0x7f36fc000000;
  nearest.bytes = 4 << 20;
  CHECK(explain(failed)->text ==
        "scale() reads memory at 0x7f36fa000000, 32.0 MiB before the beginning of the nearest memory that it was "
        "passed, which has 4.0 MiB");
  CHECK_FALSE(explain(failed)->certain);
  nearest.address = 0x7f36f8000000;
  nearest.allocated = diagnose::Location{.file = "scale.cu", .function = "main", .line = 12};
  CHECK(explain(failed)->text ==
        "scale() reads memory at 0x7f36fa000000, 28.0 MiB past the end of the nearest memory that it was passed: 4.0 "
        "MiB allocated at scale.cu:12, main");
  nearest.bytes = 64 << 20;  // contains the address
  CHECK(id_of(failed) == "none");
}

TEST_CASE("an address that came from memory, of which nothing else is known") {
  Failed failed = access(Relation::unknown);
  failed.finding.access->allocation.reset();
  failed.finding.access->parameter.reset();
  failed.finding.access->address = 0x7f36fa000008;
  CHECK((!explain(failed) || explain(failed)->id != "bad-pointer-in-memory"));
  failed.finding.access->from_memory = true;
  failed.finding.access->table = "parameter 1's memory";
  CHECK(explain(failed)->id == "bad-pointer-in-memory");
  const std::string text =
      "scale() reads memory at 0x7f36fa000008, which it computed from values that it read from parameter 1's memory";
  CHECK(explain(failed)->text == text);
  diagnose::PointedMemory& nearest = failed.finding.access->nearest.emplace();
  nearest.offset = 7 << 20;
  nearest.bytes = 4 << 20;
  CHECK(explain(failed)->text == text);
  nearest.allocated = diagnose::Location{.file = "scale.cu", .function = "main", .line = 12};
  CHECK(explain(failed)->text ==
        text + ": 3.0 MiB past the end of the nearest memory below it, 4.0 MiB allocated at scale.cu:12, main");
  nearest.offset = 1 << 20;  // inside of memory that is freed later, or that this kernel may not access
  CHECK(explain(failed)->text == text);
  failed.finding.arguments.emplace_back().allocation.emplace();  // the table
  Argument& in_table = failed.finding.arguments.emplace_back();
  in_table.name = "byte 16 of parameter 1's memory";
  in_table.loaded = {16};
  in_table.allocation.emplace().is_freed = true;
  CHECK(explain(failed)->id == "use-after-free");
  CHECK_FALSE(explain(failed)->certain);
}

TEST_CASE("an address below 4 GiB is null or a number") {
  Failed low = access(Relation::null);
  low.finding.access->allocation.reset();
  low.finding.access->parameter.reset();
  low.finding.access->address.reset();
  CHECK(explain(low)->id == "null-pointer");
  CHECK_FALSE(explain(low)->certain);
  low.finding.access->address = 24;
  CHECK(explain(low)->text == "scale() reads memory through a null pointer");
  low.finding.access->from_memory = true;
  low.finding.access->table = "rows (a __device__ variable)";
  CHECK(explain(low)->text ==
        "scale() reads memory through a null pointer that it read from rows (a __device__ variable)");
}

TEST_CASE("an access past the end of a variable") {
  Failed failed = access(Relation::past_end, 4096);
  failed.finding.access->parameter.reset();
  failed.finding.access->allocation->allocated.reset();
  failed.finding.access->variable = "bin::table";
  CHECK(explain(failed)->text ==
        "scale() reads 4.0 KiB past the end of bin::table (a __device__ variable), which is 16.0 MiB long");
}

TEST_CASE("accesses outside of the memory at a parameter") {
  Failed outside = access(Relation::unknown);
  CHECK((!explain(outside) || explain(outside)->id != "address-outside-allocation"));
  outside.finding.access->outside = true;
  CHECK(explain(outside)->id == "address-outside-allocation");
  Failed far = access(Relation::past_end, 0);
  far.finding.access->allocation.reset();
  far.finding.access->pointer = 0x7f1200000000;
  far.finding.access->address = 0x7f1600000000;
  CHECK(explain(far)->text ==
        "scale() reads 16.0 GiB after parameter 1, past the end of its memory: no allocation of the program is that "
        "long");
}

TEST_CASE("accesses to freed, null, host, other devices' and misaligned addresses") {
  Failed freed = access(Relation::freed);
  freed.finding.access->allocation->freed = diagnose::Location{.file = "scale.cu", .function = "main", .line = 30};
  CHECK(explain(freed)->id == "use-after-free");
  CHECK(explain(freed)->text ==
        "scale() reads memory through parameter 1: 16.0 MiB that were freed at scale.cu:30, main before the launch");
  Failed null = access(Relation::null);
  null.finding.access->allocation.reset();
  CHECK(explain(null)->id == "null-pointer");
  CHECK(explain(null)->text == "scale() reads memory through parameter 1, which is a null pointer");
  CHECK(explain(null)->certain);
  Failed unknown = access(Relation::never_allocated);
  unknown.finding.access->allocation.reset();
  unknown.finding.access->pointer = 0x7f1200001000;
  CHECK(explain(unknown)->id == "host-pointer");
  CHECK_FALSE(explain(unknown)->certain);
  Failed number = unknown;
  number.finding.access->pointer = 5700;
  CHECK(explain(number)->id == "number-as-address");
  CHECK(explain(number)->text == "scale() reads memory through parameter 1, which is 5700: a number, not an address");
  Failed host = unknown;
  host.finding.access->relation = Relation::host;
  host.finding.access->pointer = 0x55aa00001000;
  CHECK(explain(host)->id == "host-pointer");
  CHECK(explain(host)->certain);
  CHECK(explain(host)->text ==
        "scale() reads memory through parameter 1, which points into the process's heap: the GPU cannot access it");
  Failed other = access(Relation::other_device);
  other.finding.launch->device = 0;
  other.finding.access->allocation->device = 1;
  CHECK(explain(other)->id == "memory-of-another-gpu");
  Failed misaligned = access(Relation::misaligned, 1);
  CHECK(explain(misaligned)->id == "misaligned-address");
  CHECK(explain(misaligned)->text ==
        "scale() reads 4 bytes at an address 1 byte past a multiple of 4 bytes; the address is computed from parameter "
        "1");
  misaligned.finding.access->bytes = 0;  // a bulk copy has no element size
  misaligned.finding.access->kind = sass::AccessKind::copy;
  misaligned.finding.access->parameter.reset();
  CHECK(explain(misaligned)->text == "scale() copies memory at an address 1 byte past a multiple of 16 bytes");
}
