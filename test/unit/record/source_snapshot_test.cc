
#include <cupti.h>
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "record/memory/copy_sources.h"

using namespace cudadiag::record;

namespace {

using Difference = SourceSnapshot::Difference;

std::uint64_t at(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

struct Taken {
  explicit Taken(const std::vector<SourceRows>& sources, bool apart = false) {
    taken = snapshot->take(sources.data(), sources.size(), apart);
  }

  Difference compare() {
    Difference difference;
    REQUIRE(snapshot->compare(difference));
    return difference;
  }

  std::unique_ptr<SourceSnapshot> snapshot = std::make_unique<SourceSnapshot>();
  bool taken = false;
};

}  // namespace

TEST_CASE("changed bytes are counted, from the first to the last") {
  std::vector<unsigned char> memory(20'000, 1);
  Taken source({{at(memory.data()), memory.size(), 0, 1}});
  REQUIRE(source.taken);
  CHECK_FALSE(source.snapshot->sampled());
  CHECK(source.compare().bytes == 0);
  memory[5] = 2, memory[17'000] = 2;
  const Difference first = source.compare();
  CHECK((first.bytes == 2 && first.begin == at(&memory[5]) && first.end == at(&memory[17'001]) && first.since_last));
  const Difference again = source.compare();
  CHECK((again.bytes == 2 && !again.since_last));
  memory[6] = 3;
  const Difference later = source.compare();
  CHECK((later.bytes == 3 && later.since_last));
}

TEST_CASE("a quick comparison sees a change in small sources, and in large ones if the change is large") {
  for (const std::size_t size : {std::size_t{100}, std::size_t{128} << 10, std::size_t{900'000}}) {
    std::vector<unsigned char> memory(size, 1);
    Taken source({{at(memory.data()), size, 0, 1}});
    bool same = false;
    std::size_t effort = 0;
    CHECK((source.snapshot->is_same(effort, same) && same));
    CHECK((effort >= std::min<std::size_t>(size, 100'000) && effort < 170'000));
    std::fill_n(&memory[size / 2], size <= 128 << 10 ? 1 : 20'000, 2);
    CHECK((source.snapshot->is_same(effort, same) && !same));
    CHECK(source.compare().bytes > 0);
  }
}

TEST_CASE("only the first changed source is reported if sources are kept apart") {
  std::vector<unsigned char> memory(300, 1);
  for (const bool apart : {false, true}) {
    Taken sources({{at(memory.data()), 100, 0, 1}, {at(&memory[100]), 100, 0, 1}, {at(&memory[200]), 100, 0, 1}},
                  apart);
    memory[150] ^= 1, memory[250] ^= 1;
    const Difference first = sources.compare();
    CHECK((first.begin == at(&memory[150]) && first.bytes == (apart ? 1 : 2)));
    memory[251] ^= 1;
    CHECK(sources.compare().since_last == !apart);
  }
}

TEST_CASE("pageable memory that is gone cannot be compared") {
  constexpr std::size_t kSize = 8192;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Taken source({{at(memory), kSize, 0, 1, true}});
  REQUIRE(source.taken);
  static_cast<unsigned char*>(memory)[5000] = 1;
  CHECK(source.compare().bytes == 1);
  munmap(memory, kSize);
  Difference difference;
  CHECK_FALSE(source.snapshot->compare(difference));
}

TEST_CASE("bytes between rows are not compared") {
  std::vector<unsigned char> memory(1024 * 60, 1);
  Taken source({{at(memory.data()), 1000, 1024, 60}});
  memory[1000] = memory[1023] = 2;
  CHECK(source.compare().bytes == 0);
  memory[1024] = 2;
  CHECK(source.compare().begin == at(&memory[1024]));
}

TEST_CASE("a large source, and one with many rows, is compared by samples") {
  std::vector<unsigned char> large(SourceSnapshot::kRoom * 3 + 1, 1), rows(4096, 1);
  Taken samples({{at(large.data()), large.size(), 0, 1}}), narrow({{at(rows.data()), 1, 2, 2048}});
  REQUIRE((samples.taken && narrow.taken));
  CHECK((samples.snapshot->sampled() && narrow.snapshot->sampled()));
  large.front() = large.back() = 2;
  const Difference difference = samples.compare();
  CHECK((difference.bytes == 2 && difference.begin == at(&large.front()) && difference.end == at(&large.back()) + 1));
  for (std::size_t i = 0; i < rows.size(); i += 2) rows[i] = 2;
  CHECK(narrow.compare().bytes >= 200);
}

TEST_CASE("several sources are treated as one") {
  std::vector<unsigned char> a(100, 1), b(SourceSnapshot::kRoom, 1);
  Taken both({{at(a.data()), a.size(), 0, 1}, {at(b.data()), b.size(), 0, 1}});
  REQUIRE(both.taken);
  CHECK(both.snapshot->sampled());
  a[0] = 2, b.back() = 2;
  CHECK(both.compare().bytes == 2);
}

TEST_CASE("unmapped memory ends the comparison") {
  constexpr std::size_t kSize = 1 << 16;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Taken source({{at(memory), kSize, 0, 1}});
  REQUIRE(source.taken);
  CHECK(source.snapshot->meets(at(memory), at(memory) + 1));
  CHECK_FALSE(source.snapshot->meets(at(memory) + kSize, at(memory) + kSize + 1));
  munmap(memory, kSize);
  Difference difference;
  CHECK_FALSE(source.snapshot->compare(difference));
  CHECK_FALSE(Taken({{at(memory), kSize, 0, 1}}).taken);
}

TEST_CASE("pinned memory is tracked until it is freed, unless reading it is slow or has side effects") {
  const auto ranges = std::make_unique<PinnedRanges>();
  cuMemHostAlloc_params allocated{}, combined{};
  combined.Flags = CU_MEMHOSTALLOC_WRITECOMBINED;
  cuMemHostRegister_v2_params registered{}, device{};
  device.Flags = CU_MEMHOSTREGISTER_IOMEMORY;
  ranges->made(CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc, &allocated, 1000, 100);
  ranges->made(CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2, &registered, 200, 100);
  ranges->made(CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc, &combined, 3000, 100);
  ranges->made(CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2, &device, 4000, 100);
  ranges->made(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, nullptr, 5000, 100);
  CHECK((ranges->contain(1000, 1100) && ranges->contain(250, 300)));
  CHECK_FALSE(ranges->contain(1000, 1101));
  CHECK_FALSE(ranges->contain(999, 1001));
  for (const std::uint64_t each : {3000u, 4000u, 5000u}) CHECK_FALSE(ranges->contain(each, each + 1));
  CHECK(ranges->gone(1000) == 1100);
  CHECK(ranges->gone(1000) == 1000);
  CHECK_FALSE(ranges->contain(1000, 1001));
  CHECK(ranges->contain(200, 300));
  ranges->clear();
  CHECK_FALSE(ranges->contain(200, 300));
}
