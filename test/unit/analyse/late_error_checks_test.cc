#include <doctest/doctest.h>

#include "analyse/failed_calls.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

using wire::error::kLookedAt;
using wire::error::kThenWorked;

// A thread's failed calls, and its later calls that returned the same error again.
struct CallsAndLooks {
  session::Process process;

  session::FailedCall& fail(std::uint32_t code, std::uint32_t site, unsigned flags, std::string outer) {
    session::FailedCall error;
    error.serial = process.record.errors.size() + 1;
    error.ticks = 10 * error.serial;
    error.tid = 1;
    error.code = code;
    error.site = site;
    error.flags = static_cast<std::uint8_t>(flags);
    error.domain = wire::error::Domain::driver;
    error.call = "driver's";
    error.outer = std::move(outer);
    process.record.errors.push_back(error);
    return process.record.errors.back();
  }
  session::FailedCall& copy(unsigned flags = kLookedAt | kThenWorked, std::uint32_t site = 1) {
    return fail(1, site, flags, "cudaMemcpyAsync");
  }
  // Adds a call to cudaGetLastError that returned the error of call number `of`.
  session::FailedCall& look(std::uint64_t of, unsigned flags = kLookedAt) {
    session::FailedCall& error = fail(process.record.errors[of - 1].code, 9, flags, "");
    error.domain = wire::error::Domain::runtime;
    error.call = "cudaGetLastError";
    error.of_call = of;
    return error;
  }

  CallFindings after(int status, const SameLine& same_line = {}) const {
    return failed_calls(process, ending({status, std::nullopt}), same_line);
  }
  const session::FailedCall* error(std::size_t serial) const { return &process.record.errors[serial - 1]; }
};

}  // namespace

TEST_CASE("a program dies of a call whose error was read late, and the call that read it is named as having noticed") {
  CallsAndLooks calls;
  calls.copy();
  calls.look(1);
  const CallFindings findings = calls.after(1);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].kind == Kind::sync_error);
  CHECK(findings.failures[0].evidence.grade() == Grade::proven);
  CHECK(findings.failures[0].reported == calls.error(1));
  CHECK(findings.failures[0].noticed == calls.error(2));
  CHECK(findings.failures[0].evidence ==
        "the call itself returned the error, and so did cudaGetLastError after its thread had continued, and the "
        "program ended with status 1 afterwards");
  CHECK(findings.notes.empty());
}

TEST_CASE("of calls that failed alike at one place, the first leads") {
  CallsAndLooks calls;
  calls.copy(kThenWorked);  // represents many failed copies, some of whose records were lost
  calls.copy();
  calls.copy();
  calls.look(2);
  const CallFindings findings = calls.after(1);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].reported == calls.error(1));
  CHECK(findings.notes.empty());
}

TEST_CASE(
    "calls that failed at another place, with another code or before the thread had asked once are separate findings") {
  CallsAndLooks calls;
  calls.copy();
  calls.look(1, kLookedAt | kThenWorked);
  calls.copy(kLookedAt | kThenWorked, 2);
  calls.fail(400, 1, kLookedAt | kThenWorked, "cudaMemcpyAsync");
  calls.copy();
  calls.look(5);
  const CallFindings findings = calls.after(1);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].reported == calls.error(5));
  REQUIRE(findings.notes.size() == 2);
  CHECK(findings.notes[0].text == "2 calls of cudaMemcpyAsync returned invalid argument (1) and the program continued");
}

TEST_CASE("an error that was read late is suspected if nothing followed and the program succeeded") {
  CallsAndLooks calls;
  calls.copy();
  calls.copy();
  calls.look(1);
  const CallFindings findings = calls.after(0);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].kind == Kind::unchecked_error);
  CHECK(findings.failures[0].evidence.grade() == Grade::suspected);
  CHECK(findings.failures[0].reported == calls.error(1));
  CHECK(findings.failures[0].noticed == calls.error(3));
  CHECK(findings.failures[0].evidence ==
        "the call itself returned the error, and so did cudaGetLastError after its thread had continued, and its "
        "thread then did nothing more; it failed 2 times");
}

TEST_CASE("calls of one line are one, even if the runtime sees two call sites and remembers only some") {
  CallsAndLooks calls;
  calls.copy(kThenWorked, 1);
  calls.copy(kLookedAt | kThenWorked, 1);
  calls.copy(kLookedAt | kThenWorked, 2);
  calls.copy(kLookedAt | kThenWorked, 2);
  calls.look(3);
  const auto one_line = [](const session::Process&, std::uint32_t a, std::uint32_t b) { return a < 3 && b < 3; };
  const CallFindings findings = calls.after(1, one_line);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].evidence.grade() == Grade::proven);
  CHECK(findings.failures[0].reported == calls.error(1));
  CHECK(findings.failures[0].noticed == calls.error(5));
  CHECK(findings.notes.empty());
  const CallFindings ended_well = calls.after(0, one_line);
  REQUIRE(ended_well.failures.size() == 1);
  CHECK(ended_well.failures[0].evidence.text().ends_with("; it failed 4 times"));

  CHECK(calls.after(1).failures.size() == 2);
}

TEST_CASE("an error that was queried late, and after which the thread continued to work, was handled") {
  CallsAndLooks calls;
  calls.copy();
  calls.look(1, kLookedAt | kThenWorked);
  const CallFindings findings = calls.after(1);
  CHECK(findings.failures.empty());
  REQUIRE(findings.notes.size() == 1);
  CHECK(findings.notes[0].text == "1 call of cudaMemcpyAsync returned invalid argument (1) and the program continued");
}

TEST_CASE("a call whose error was queried at once is not among those that were queried late") {
  CallsAndLooks calls;
  calls.copy();
  calls.copy();
  calls.look(2);
  const CallFindings findings = calls.after(1);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].reported == calls.error(2));
  REQUIRE(findings.notes.size() == 1);
}

TEST_CASE("an expected error code is not a failure if it is queried late, either") {
  CallsAndLooks calls;
  SUBCASE("access to a peer that is already enabled") { calls.fail(704, 1, kLookedAt | kThenWorked, "cudaDevice"); }
  SUBCASE("a pointer to host memory") { calls.fail(1, 1, kLookedAt | kThenWorked, "cudaPointerGetAttributes"); }
  calls.look(1);
  const CallFindings findings = calls.after(1);
  CHECK(findings.failures.empty());
  CHECK(findings.notes.empty());
}

TEST_CASE("a check for an error whose call is not recorded says nothing") {
  CallsAndLooks calls;
  calls.copy();
  calls.look(1).of_call = 7;
  const CallFindings findings = calls.after(1);
  CHECK(findings.failures.empty());
  CHECK(findings.notes.size() == 1);
}
