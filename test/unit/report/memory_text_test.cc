#include <doctest/doctest.h>

#include "report/finding_text.h"
#include "unit/report/sample_reports.h"

namespace memory_text_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;
using namespace cudadiag::report;

namespace {

Argument pointer(const std::string& state, std::uint64_t offset, std::optional<std::uint64_t> bytes = {}) {
  Argument argument;
  argument.name = "parameter 1";
  argument.origin = session::NameSource::kernel;
  argument.pointer = 0x1000 + offset;
  argument.bytes = bytes;
  argument.allocation = PointedMemory{};
  argument.allocation->address = 0x1000;
  argument.allocation->bytes = 4096;
  argument.allocation->offset = offset;
  argument.allocation->is_freed = state == "freed";
  return argument;
}

Lines lines_of(std::vector<Argument> arguments, bool verbose = false) {
  Finding finding;
  finding.code = 700;
  finding.arguments = std::move(arguments);
  return wrong_pointer_lines(finding, "/home/u", verbose);
}

constexpr const char* kDoubt = "it is unknown whether the failing access used that address";

}  // namespace

TEST_CASE("sizes use the largest unit that leaves at least one whole unit") {
  CHECK(size_text(0) == "0 bytes");
  CHECK(size_text(1) == "1 byte");
  CHECK(size_text(1023) == "1023 bytes");
  CHECK(size_text(1024) == "1.0 KiB");
  CHECK(size_text(20ull << 30) == "20.0 GiB");
  CHECK(size_text(~0ull) == "16.0 EiB");
}

TEST_CASE("one thing is singular, and thousands have separators") {
  CHECK(counted(0, "thread") == "0 threads");
  CHECK(counted(1, "thread") == "1 thread");
  CHECK(counted(2048, "failed call") == "2,048 failed calls");
}

TEST_CASE("only wrong pointers are shown, with a remark that they may not be at fault") {
  CHECK(lines_of({pointer("live", 0), pointer("live", 4096)}).empty());
  CHECK(lines_of({pointer("freed", 8)}) == Lines{"parameter 1 points into 4.0 KiB that had been freed", kDoubt});
  CHECK(lines_of({pointer("live", 4100)}) == Lines{"parameter 1 points 4 bytes past the end of 4.0 KiB", kDoubt});
  CHECK(lines_of({pointer("live", 96, 4001)}) == Lines{"parameter 1 reaches 1 byte past the end of 4.0 KiB"});
  CHECK(lines_of({pointer("live", 96, 4000)}).empty());
}

TEST_CASE("at most two wrong pointers are shown, all of them with -v") {
  const std::vector<Argument> three(3, pointer("freed", 0));
  const Lines lines = lines_of(three);
  REQUIRE(lines.size() == 4);
  CHECK(lines[2] == "1 more: see -v");
  CHECK(lines_of(three, true).size() == 3 + 1);
}

TEST_CASE("pointers in the cause are repeated only with -v") {
  Finding finding;
  finding.arguments = {pointer("freed", 0)};
  finding.cause = Cause{};
  CHECK(wrong_pointer_lines(finding, "", false).size() == 2);
  finding.cause->proof = {0};
  CHECK(wrong_pointer_lines(finding, "", false).empty());
  CHECK(wrong_pointer_lines(finding, "", true).size() == 2);
}

TEST_CASE("only kernel parameters are shown as wrong pointers") {
  Argument argument = pointer("freed", 0);
  argument.origin = session::NameSource::schema;
  CHECK(lines_of({argument}).empty());
}

TEST_CASE("the holders of the memory") {
  MemoryUse memory = *explained_report().findings[0].memory_use;
  const Lines lines = memory_lines(memory, "/home/u", false);
  CHECK(lines == Lines{"6.0 MiB requested, 4.0 MiB of 1.0 GiB free; this process held 900.0 MiB",
                       "800.0 MiB in 2 allocations from train.py:12, main (PyTorch's caching allocator)",
                       "100.0 MiB held by process 4800 (python3) after this one had ended"});
  memory.whole = false;
  memory.peak = 950u << 20;
  memory.total.reset();
  memory.holders.resize(5, memory.holders.front());
  memory.others.clear();
  const Lines more = memory_lines(memory, "/home/u", false);
  REQUIRE(more.size() == 5);
  CHECK(more[0] == "6.0 MiB requested, this process held at least 900.0 MiB, at its peak 950.0 MiB");
  CHECK(more[4] == "2 more: see -v");
}

TEST_CASE("the report of PyTorch's allocator has lines, and says fragmented only if it is") {
  MemoryUse memory;
  memory.asked = 6u << 20;
  CHECK(tensor_lines(memory, "/home/u", false).empty());
  TensorMemory& tensors = memory.tensors.emplace();
  tensors.reserved = 20u << 20, tensors.allocated = 12u << 20, tensors.largest_free = 5u << 20;
  tensors.times = 2;
  tensors.holders = {{12u << 20, 3, {"/home/u/a.py", "f", symbolize::Language::python, "", "", 7}, ""}};
  tensors.exceptions = {{"OutOfMemoryError", {"/home/u/a.py", "", symbolize::Language::python, "", "", 9}, 4096}};
  const Lines lines = tensor_lines(memory, "/home/u", false);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] ==
        "PyTorch had reserved 20.0 MiB and allocated 12.0 MiB of it; the largest free block was 5.0 MiB; memory ran "
        "out 2 times");
  CHECK(lines[1] == "enough memory was free, but only in smaller blocks: the memory is fragmented");
  CHECK(lines[2] == "12.0 MiB in 3 tensors from a.py:7, f");
  CHECK(lines[3] ==
        "4.0 KiB kept alive by the OutOfMemoryError raised at a.py:9: leave its except block before retrying");
  tensors.largest_free = 6u << 20;
  CHECK(tensor_lines(memory, "/home/u", false).size() == 3);
  tensors.largest_free = 0, tensors.allocated = 15u << 20;
  CHECK(tensor_lines(memory, "/home/u", false).size() == 3);
}

TEST_CASE("a pointer whose value is known is printed once") {
  Argument argument;
  argument.name = "parameter 1";
  argument.pointer = 0x1000;
  CHECK(argument_line(argument, "") == "parameter 1, at 0x1000");
  argument.value = "0x1000";
  CHECK(argument_line(argument, "") == "parameter 1 = 0x1000");
}

}  // namespace memory_text_test
