#include <doctest/doctest.h>

#include "analyse/failed_calls.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

using wire::error::kLaunch;
using wire::error::kLookedAt;
using wire::error::kThenWorked;
constexpr std::uint32_t kGlobal = 0, kThreadLocal = 1, kRelaxed = 2;

// Failed calls in the order of their records, 10 ticks apart.
struct CapturedCalls {
  session::Process process;

  static session::Capture capture(std::uint64_t began, std::uint32_t tid, std::uint32_t mode) {
    return {began, tid, mode, 1};
  }

  session::FailedCall& fail(std::string call, std::uint32_t code, std::uint32_t tid, const session::Capture& capture,
                            unsigned flags = 0, std::string outer = "") {
    session::FailedCall error;
    error.serial = process.record.errors.size() + 1;
    error.ticks = 10 * error.serial;
    error.started = error.ticks - 1;
    error.tid = tid;
    error.code = code;
    error.flags = static_cast<std::uint8_t>(flags);
    error.domain = wire::error::Domain::driver;
    error.call = std::move(call);
    error.outer = std::move(outer);
    error.capture = capture;
    error.site = static_cast<std::uint32_t>(error.serial);
    process.record.errors.push_back(error);
    return process.record.errors.back();
  }
  session::FailedCall& allocate(std::uint32_t tid, const session::Capture& capture, unsigned flags = 0) {
    return fail("cuMemAlloc_v2", 900, tid, capture, flags, "cudaMalloc");
  }
  session::FailedCall& end(std::uint32_t tid, const session::Capture& capture, unsigned flags = 0) {
    return fail("cuStreamEndCapture", 901, tid, capture, flags, "cudaStreamEndCapture");
  }

  CallFindings after(int status) const { return failed_calls(process, ending({status, std::nullopt})); }
  const session::FailedCall* error(std::size_t index) const { return &process.record.errors[index]; }

  // Returns the only failure, after checking which error is its cause and which call noticed it.
  Failure only(int status, std::size_t cause, std::size_t noticed) const {
    const CallFindings findings = after(status);
    REQUIRE(findings.failures.size() == 1);
    const Failure failure = findings.failures[0];
    CHECK(failure.kind == Kind::capture_violation);
    CHECK(failure.reported == error(cause));
    CHECK((failure.noticed == nullptr ? failure.reported : failure.noticed) == error(noticed));
    return failure;
  }
};

}  // namespace

TEST_CASE("the call that broke the capture leads, and the one that ended the capture is named as having noticed") {
  CapturedCalls calls;
  const auto capture = CapturedCalls::capture(5, 1, kGlobal);
  calls.allocate(1, capture, kLookedAt);
  calls.end(1, capture, kLookedAt);
  const Failure failure = calls.only(1, 0, 1);
  CHECK(failure.code == 900);
  CHECK(failure.evidence.grade() == Grade::proven);
  CHECK(failure.evidence ==
        "cudaMalloc itself returned the error and broke the capture, so cudaStreamEndCapture returned "
        "901, and the program ended with status 1 afterwards");
}

TEST_CASE("each code from 900 to 908 can be the cause") {
  for (const std::uint32_t code : {900u, 902u, 903u, 904u, 905u, 906u, 907u, 908u}) {
    CapturedCalls calls;
    const auto capture = CapturedCalls::capture(5, 1, kGlobal);
    calls.fail("cuLaunchKernel", code, 1, capture, kLaunch);
    calls.end(1, capture);
    calls.only(1, 0, 1);
  }
}

TEST_CASE("a program that dies of the breaking call noticed it there") {
  CapturedCalls calls;
  calls.allocate(1, CapturedCalls::capture(5, 1, kGlobal));
  CHECK(calls.only(1, 0, 0).evidence.text() ==
        "the call itself returned the error, and the program ended with status 1 afterwards");
}

TEST_CASE("a call that fails in an already broken capture is not its cause") {
  CapturedCalls calls;
  const auto capture = CapturedCalls::capture(5, 1, kGlobal);
  calls.fail("cuStreamSynchronize", 900, 1, capture);
  calls.fail("cuLaunchKernel", 901, 1, capture, kLaunch);
  calls.allocate(1, capture);
  calls.end(1, capture);
  calls.only(1, 0, 3);
}

TEST_CASE("another thread's unsafe call breaks a capture in global mode, even if that thread handles its error") {
  for (const unsigned handled : std::initializer_list<unsigned>{0, kLookedAt, kLookedAt | kThenWorked}) {
    CapturedCalls calls;
    const auto capture = CapturedCalls::capture(5, 1, kGlobal);
    calls.allocate(2, capture, handled);
    calls.end(1, capture);
    const Failure failure = calls.only(1, 0, 1);
    CHECK(failure.evidence.grade() == Grade::proven);
    CHECK(failure.evidence.text().find("broke another thread's capture") != std::string::npos);
  }
}

TEST_CASE("one unsafe call breaks the captures of several threads, and is one finding") {
  CapturedCalls calls;
  const auto first = CapturedCalls::capture(5, 1, kGlobal), second = CapturedCalls::capture(6, 2, kGlobal);
  calls.allocate(3, second, kLookedAt | kThenWorked);
  calls.end(1, first);
  calls.end(2, second, kLookedAt | kThenWorked);
  calls.only(1, 0, 1);
}

TEST_CASE("in thread-local mode another thread's unsafe call breaks nothing") {
  CapturedCalls calls;
  const auto first = CapturedCalls::capture(5, 1, kThreadLocal), second = CapturedCalls::capture(6, 2, kThreadLocal);
  calls.allocate(2, second, kLookedAt | kThenWorked);
  calls.end(2, second, kLookedAt | kThenWorked);
  calls.end(1, first);
  const Failure failure = calls.only(1, 2, 2);
  CHECK(failure.code == 901);
  CHECK(failure.evidence.grade() == Grade::inferred);
}

TEST_CASE("only calls on its own stream break a capture in relaxed mode") {
  CapturedCalls calls;
  const auto relaxed = CapturedCalls::capture(5, 1, kRelaxed), other = CapturedCalls::capture(6, 2, kGlobal);
  calls.allocate(1, other);
  calls.fail("cuStreamSynchronize", 900, 1, relaxed);
  calls.end(1, relaxed);
  const CallFindings findings = calls.after(1);
  REQUIRE(findings.failures.size() == 2);
  CHECK(findings.failures[1].reported == calls.error(1));
  CHECK(findings.failures[1].noticed == calls.error(2));
}

TEST_CASE("two simultaneous captures on two threads, each broken by its own thread") {
  CapturedCalls calls;
  const auto first = CapturedCalls::capture(5, 1, kThreadLocal), second = CapturedCalls::capture(6, 2, kThreadLocal);
  calls.allocate(2, second, kLookedAt);
  calls.fail("cuStreamSynchronize", 900, 1, first, kLookedAt);
  calls.end(2, second, kLookedAt | kThenWorked);
  calls.end(1, first);
  const CallFindings findings = calls.after(1);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].reported == calls.error(1));
  REQUIRE(findings.notes.size() == 1);
  CHECK(findings.notes[0].text ==
        "1 call of cudaMalloc returned operation not permitted during capture (900) and the "
        "program continued");
}

TEST_CASE("an earlier capture that was broken and handled is not the reason that the second one broke") {
  for (const std::uint32_t mode : {kGlobal, kThreadLocal}) {
    CapturedCalls calls;
    const auto first = CapturedCalls::capture(5, 1, mode), second = CapturedCalls::capture(25, 1, mode);
    calls.allocate(1, first, kLookedAt | kThenWorked);
    calls.end(1, first, kLookedAt | kThenWorked);
    calls.fail("cuStreamSynchronize", 900, 1, second);
    calls.end(1, second);
    calls.only(1, 2, 3);
  }
}

TEST_CASE("if the cause is unknown, the first call that found the capture broken leads, inferred") {
  CapturedCalls calls;
  const auto first = CapturedCalls::capture(5, 1, kGlobal), second = CapturedCalls::capture(25, 1, kGlobal);
  calls.allocate(1, first, kLookedAt | kThenWorked);
  calls.end(1, first, kLookedAt | kThenWorked);
  calls.fail("cuLaunchKernel", 901, 1, second, kLaunch);
  calls.allocate(1, second);  // allocated only after the capture was broken
  calls.end(1, second);
  const Failure failure = calls.only(1, 2, 4);
  CHECK(failure.evidence.grade() == Grade::inferred);
  CHECK(failure.evidence ==
        "an earlier, unknown call broke the capture: that call was not watched, or returned no error, and the program "
        "ended with status 1 afterwards");
}

TEST_CASE("the breaking call may return after the call that found the capture broken") {
  CapturedCalls calls;
  const auto capture = CapturedCalls::capture(5, 1, kGlobal);
  calls.end(1, capture);
  calls.allocate(2, {}).started = 8;
  calls.only(1, 1, 0);
  SUBCASE("a call that began only then is not the cause") {
    calls.process.record.errors[1].started = 15;
    CHECK(calls.after(1).failures.at(0).reported == calls.error(0));
  }
}

TEST_CASE("if the capture is unknown, only the failed call itself can be the cause") {
  CapturedCalls calls;
  calls.allocate(1, {}, kLookedAt | kThenWorked);
  calls.end(1, {});
  CHECK(calls.only(1, 1, 1).evidence.grade() == Grade::inferred);
}

TEST_CASE("a broken capture whose error was never read is one finding, at the call that broke it") {
  CapturedCalls calls;
  const auto capture = CapturedCalls::capture(5, 1, kGlobal);
  calls.allocate(1, capture);
  calls.end(1, capture);
  const Failure failure = calls.only(0, 0, 1);
  CHECK(failure.evidence.grade() == Grade::suspected);
  CHECK(failure.evidence ==
        "cudaMalloc itself returned the error and broke the capture, so cudaStreamEndCapture returned "
        "901, and nothing checked for the error");
}

TEST_CASE("handling the breaking call does not count for the thread whose capture it broke") {
  CapturedCalls calls;
  const auto capture = CapturedCalls::capture(5, 1, kGlobal);
  calls.allocate(2, capture, kLookedAt | kThenWorked);
  calls.end(1, capture);
  CHECK(calls.only(0, 0, 1).evidence.grade() == Grade::suspected);
}

TEST_CASE("a broken capture that the program handled is a note") {
  CapturedCalls calls;
  const auto capture = CapturedCalls::capture(5, 1, kGlobal);
  SUBCASE("it queried the error") {
    calls.allocate(1, capture, kLookedAt);
    calls.end(1, capture, kLookedAt);
  }
  SUBCASE("the driver returned it to the caller, which continued with other work") {
    calls.fail("cuLaunchKernel", 906, 1, capture, kLaunch | kThenWorked);
    calls.fail("cuStreamEndCapture", 901, 1, capture, kThenWorked);
  }
  const CallFindings findings = calls.after(0);
  CHECK(findings.failures.empty());
  CHECK(findings.notes.size() == 1);
}

TEST_CASE("queries during a capture are not findings") {
  CapturedCalls calls;
  const auto capture = CapturedCalls::capture(5, 1, kGlobal);
  calls.fail("cuStreamIsCapturing", 906, 1, capture, 0, "cudaStreamIsCapturing");
  calls.fail("cuStreamGetCaptureInfo_v2", 906, 1, capture, 0, "cudaStreamGetCaptureInfo_v2");
  CHECK(calls.after(1).failures.empty());
  CHECK(calls.after(1).notes.empty());
  calls.fail("cuEventQuery", 907, 1, capture, 0, "cudaEventQuery");
  CHECK(calls.after(0).failures.empty());
  CHECK(calls.after(0).notes.size() == 1);
}

TEST_CASE("a query of the default stream's capture breaks nothing") {
  CapturedCalls calls;
  const auto capture = CapturedCalls::capture(5, 1, kGlobal);
  calls.fail("cuStreamIsCapturing", 906, 1, capture, 0, "cudaStreamIsCapturing");
  calls.end(1, capture);
  calls.only(1, 1, 1);
}
