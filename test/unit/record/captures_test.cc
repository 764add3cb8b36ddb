#include "record/graphs/captures.h"

#include <doctest/doctest.h>

namespace {

using cudadiag::record::Capture;
using cudadiag::record::Captures;

Captures::Stream stream(std::uintptr_t handle) {
  return Captures::stream({reinterpret_cast<CUstream>(handle), false}, 1, 10);
}

Capture capture(std::uint64_t began, std::uint32_t tid = 10, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL,
                std::uint32_t context = 0) {
  return {began, tid, mode, 0, context};
}

}  // namespace

TEST_CASE("each thread and context has its own per-thread default stream, and all others are shared") {
  CHECK(Captures::stream({nullptr, true}, 1, 10) != Captures::stream({nullptr, true}, 1, 11));
  CHECK(Captures::stream({nullptr, true}, 1, 10) != Captures::stream({nullptr, true}, 2, 10));
  CHECK(Captures::stream({nullptr, true}, 1, 10) == Captures::stream({CU_STREAM_PER_THREAD, false}, 1, 10));
  CHECK(Captures::stream({nullptr, false}, 1, 10) == Captures::stream({nullptr, false}, 2, 11));
  CHECK(stream(0x100) != stream(0x200));
}

TEST_CASE("an error concerns the stream's capture, or else the thread's own, or else the strictest one") {
  Captures captures;
  captures.began(stream(0x100), capture(1, 10, CU_STREAM_CAPTURE_MODE_RELAXED));
  captures.began(stream(0x200), capture(2, 11, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  captures.began(stream(0x300), capture(3, 12, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(captures.concerned(stream(0x100), 12).began == 1);
  CHECK(captures.concerned({}, 11).began == 2);
  CHECK(captures.concerned({}, 10).began == 3);  // the thread's own capture is relaxed, so it does not count
  CHECK(captures.concerned({}, 99).began == 3);
}

TEST_CASE("a capture that fails to begin keeps an earlier capture of its stream") {
  Captures captures;
  captures.began(stream(0x100), capture(1));
  captures.began(stream(0x100), capture(2));
  captures.refused(stream(0x100));
  CHECK(captures.concerned(stream(0x100), 0).began == 1);
  CHECK(captures.ended(stream(0x100)));
  CHECK_FALSE(captures.ended(stream(0x100)));
  CHECK(captures.concerned(stream(0x100), 0).began == 0);
}

TEST_CASE("captures end with their context") {
  Captures captures;
  captures.began(stream(0x100), capture(1, 10, CU_STREAM_CAPTURE_MODE_GLOBAL, 4));
  captures.began(stream(0x200), capture(2, 10, CU_STREAM_CAPTURE_MODE_GLOBAL, 5));
  captures.began(stream(0x300), capture(3, 10, CU_STREAM_CAPTURE_MODE_GLOBAL, 4));
  CHECK(captures.context_ended(4) == 2);
  CHECK_FALSE(captures.ended(stream(0x100)));
  CHECK(captures.ended(stream(0x200)));
}

TEST_CASE("the oldest captures that never end are dropped") {
  Captures captures;
  for (std::uintptr_t i = 1; i <= 65; ++i) captures.began(stream(i << 8), capture(i));
  CHECK_FALSE(captures.ended(stream(1 << 8)));
  CHECK(captures.ended(stream(2 << 8)));
  CHECK(captures.ended(stream(65 << 8)));
}
