#include "analyse/failed_calls.h"

#include <doctest/doctest.h>

#include "unit/analyse/failing_calls.h"
#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

using Calls = FailingCalls;

TEST_CASE("a program that fails after its last failing call died of that call") {
  Calls calls;
  calls.fail("cudaLaunchKernel", 9, wire::error::kLookedAt | wire::error::kLaunch);
  const auto findings = calls.after(3);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].kind == Kind::sync_error);
  CHECK(findings.failures[0].evidence.grade() == Grade::proven);
  CHECK(findings.failures[0].evidence ==
        "the call itself returned the error, and the program ended with status 3 afterwards");
  CHECK(findings.notes.empty());
}

TEST_CASE("a call after which the thread continued working is not what the program died of") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt | wire::error::kThenWorked, "cudaMalloc");
  const auto findings = calls.after(1);
  CHECK(findings.failures.empty());
  REQUIRE(findings.notes.size() == 1);
  CHECK(findings.notes[0].code == analyse::NoteCode::error_handled);
  CHECK(findings.notes[0].text == "1 call of cudaMalloc returned out of memory (2) and the program continued");
}

TEST_CASE("handled errors are merged, whether or not the thread queried the last error") {
  Calls calls;
  for (int i = 0; i < 3; ++i) calls.fail("cuMemAlloc_v2", 2, i == 0 ? wire::error::kLookedAt : 0, "cudaMalloc");
  const auto findings = calls.after(0);
  CHECK(findings.failures.empty());
  REQUIRE(findings.notes.size() == 1);
  CHECK(findings.notes[0].text == "3 calls of cudaMalloc returned out of memory (2) and the program continued");
}

TEST_CASE("running out of memory at the end is a separate kind") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc");
  const auto findings = calls.after(1);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].kind == Kind::out_of_memory);
}

TEST_CASE("a failed launch that nobody checked is suspected, once per place") {
  Calls calls;
  for (int i = 0; i < 4; ++i) {
    calls.fail("cuLaunchKernel", 1, wire::error::kLaunch | wire::error::kThenWorked, "cudaLaunchKernel");
  }
  const auto findings = calls.after(0);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].kind == Kind::unchecked_error);
  CHECK(findings.failures[0].evidence.grade() == Grade::suspected);
  CHECK(findings.failures[0].evidence ==
        "the call failed, and its thread continued without querying the last error; it is unknown whether the "
        "program checked what the call returned; it failed 4 times");
  CHECK(findings.failures[0].reported == &calls.process.record.errors[0]);
}

TEST_CASE("a launch that was checked is not a finding if the program ends normally") {
  Calls calls;
  calls.fail("cuLaunchKernel", 1, wire::error::kLaunch | wire::error::kLookedAt);
  CHECK(calls.after(0).failures.empty());
}

TEST_CASE("a direct driver call returns its error to the caller, so only launches are suspected") {
  Calls calls;
  calls.fail("cuModuleLoadData", 209);
  calls.fail("cuMemcpyHtoD_v2", 1);
  CHECK(calls.after(0).failures.empty());
  calls.fail("cuLaunchKernel", 1, wire::error::kLaunch);
  const auto findings = calls.after(0);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].evidence == "the call failed; it is unknown whether the program checked what it returned");
}

TEST_CASE("of several failed calls before the program failed, the first leads, and none is proven") {
  Calls calls;
  calls.fail("cuLaunchKernel", 1, wire::error::kLaunch | wire::error::kThenWorked);
  calls.fail("cuMemAlloc_v2", 2);
  const auto findings = calls.after(1);
  REQUIRE(findings.failures.size() == 2);
  CHECK(findings.failures[0].code == 1);
  for (const Failure& failure : findings.failures) CHECK(failure.evidence.grade() == Grade::inferred);
  CHECK(findings.failures[1].evidence.text().ends_with(
      "; an earlier call of its thread had also failed, and it is unknown which of the two ended the program"));
}

TEST_CASE("a call that failed several times before the program failed is one finding") {
  Calls calls;
  for (int i = 0; i < 3; ++i) calls.fail("cuLaunchKernel", 1, wire::error::kLaunch);
  const auto findings = calls.after(1);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].evidence.grade() == Grade::proven);
}

TEST_CASE("calls of one line are one finding, even if the compiler made several call sites of them") {
  Calls calls;
  calls.fail("cuLaunchKernel", 1, wire::error::kLaunch, "cudaLaunchKernel", 1);
  calls.fail("cuLaunchKernel", 1, wire::error::kLaunch, "cudaLaunchKernel", 2);
  calls.fail("cuLaunchKernel", 1, wire::error::kLaunch, "cudaLaunchKernel", 3);
  const auto one_line = [&](const session::Process& process, std::uint32_t a, std::uint32_t b) {
    return &process == &calls.process && a < 3 && b < 3;
  };
  const auto ended_well = calls.after(0, one_line);
  REQUIRE(ended_well.failures.size() == 2);
  CHECK(ended_well.failures[0].evidence.text().ends_with("; it failed 2 times"));
  CHECK(ended_well.failures[1].reported == &calls.process.record.errors[2]);

  calls.fail("cuLaunchKernel", 1, wire::error::kLaunch, "cudaLaunchKernel", 2);
  const auto ended_badly = calls.after(1, one_line);
  REQUIRE(ended_badly.failures.size() == 2);
  CHECK(ended_badly.failures[0].reported == &calls.process.record.errors[2]);
  for (const Failure& failure : ended_badly.failures) CHECK(failure.evidence.grade() == Grade::inferred);
  CHECK(calls.after(1, [](const auto&...) { return true; }).failures.size() == 1);
}

TEST_CASE("a program that lives on for a long time after its last failing call may have ended for another reason") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc");
  session::ProcessRecord& record = calls.process.record;
  record.seconds_per_tick = 1;
  record.clock_last = record.errors[0].ticks + 10;
  CHECK(calls.after(1).failures.at(0).evidence.grade() == Grade::proven);
  CHECK(calls.after(1).failures.at(0).evidence.text().ends_with("the program ended with status 1 afterwards"));
  record.clock_last += 24;
  CHECK(calls.after(1).failures.at(0).evidence.grade() == Grade::inferred);
  CHECK(calls.after(1).failures.at(0).evidence.text().ends_with("the program ended with status 1, 34 s afterwards"));
}

TEST_CASE("a code without a documented cause proves nothing") {
  for (const std::uint32_t code : {999u, 12345u}) {
    Calls calls;
    calls.fail("cuMemcpyDtoH_v2", code);
    const auto findings = calls.after(1);
    REQUIRE(findings.failures.size() == 1);
    CHECK(findings.failures[0].evidence.grade() == Grade::suspected);
    CHECK(
        findings.failures[0].evidence ==
        "cuMemcpyDtoH_v2 returned the error, and the program ended with status 1 afterwards; this error code does not "
        "show whether the call itself or earlier GPU work failed");
  }
}

TEST_CASE("probing calls are not reported, even if the program fails") {
  Calls calls;
  calls.fail("cuPointerGetAttributes", 1);
  calls.fail("cuCtxGetDevice", 201);
  calls.fail("cuStreamQuery", 600);
  calls.fail("cuModuleGetGlobal_v2", 500);
  calls.fail("cuModuleUnload", 709);
  const auto findings = calls.after(1);
  CHECK(findings.failures.empty());
  CHECK(findings.notes.empty());
}

TEST_CASE("the same codes from other calls are not probes") {
  Calls calls;
  calls.fail("cuMemcpyHtoD_v2", 201);
  CHECK(calls.after(1).failures.size() == 1);
}

TEST_CASE("a missing device is suspected if the program dies, and is not a finding if it continues") {
  Calls calls;
  calls.fail("cuInit", 100);
  CHECK(calls.after(0).failures.empty());
  CHECK(calls.after(0).notes.empty());
  const auto findings = calls.after(1);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].evidence.grade() == Grade::suspected);
  CHECK(findings.failures[0].evidence.text().find("nvidia-smi") != std::string::npos);
}

TEST_CASE("if the main thread continued after another thread's failing call, that call may be the cause") {
  Calls calls;
  calls.fail_beside(7, 1);
  session::ProcessRecord& record = calls.process.record;
  session::Operation later;
  later.ticks = 20;
  const auto findings = [&] {
    record.operations = {later};
    return calls.after(1);
  };
  REQUIRE(findings().failures.size() == 1);
  CHECK(findings().failures[0].evidence.grade() == Grade::suspected);
  CHECK(findings().failures[0].evidence.text().ends_with("; the main thread continued in between"));
  const auto crashed = failed_calls(calls.process, ending({std::nullopt, 6}));
  CHECK(crashed.failures.at(0).evidence.grade() == Grade::inferred);
  CHECK(crashed.failures.at(0).evidence.text().ends_with("; other threads continued in between"));
  SUBCASE("a call of the main thread failed since") {
    session::FailedCall& other = calls.fail("cuMemcpyHtoD_v2", 1, wire::error::kLookedAt);
    other.tid = 7;
    record.operations.clear();
    const auto both = calls.after(1);
    CHECK(both.failures.at(0).evidence.grade() == Grade::suspected);
    CHECK(both.failures.at(1).evidence.grade() == Grade::proven);
    calls.process.record.errors.pop_back();
    later.ticks = 5;
  }
  SUBCASE("it had issued that work earlier") { later.ticks = 5; }
  SUBCASE("the thread itself issued it") { later.thread = 1; }
  SUBCASE("that failed, too") {
    later.flags = wire::operation::kReturned;
    later.result = 2;
  }
  CHECK(findings().failures.at(0).evidence.grade() == Grade::proven);
}

TEST_CASE("work of another thread after the failed call may be the reason that the program ended") {
  Calls calls;
  calls.fail_beside(1, 2);
  session::ProcessRecord& record = calls.process.record;
  session::Operation& later = record.operations.emplace_back();
  later.ticks = 20;
  CHECK(calls.after(1).failures.at(0).evidence.grade() == Grade::proven);  // the call itself returned the error
  later.thread = 1;
  CHECK(calls.after(1).failures.at(0).evidence.grade() == Grade::inferred);
  CHECK(calls.after(1).failures.at(0).evidence.text().ends_with("afterwards; other threads continued in between"));
  record.pid = 1;
  CHECK(calls.after(1).failures.at(0).evidence.grade() == Grade::proven);
  record.pid = 7;
  later.ticks = 5;
  CHECK(calls.after(1).failures.at(0).evidence.grade() == Grade::proven);
}

TEST_CASE("an error that a thread had read and survived earlier may not be why the program ended") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt | wire::error::kAskedBefore, "cudaMalloc");
  const Failure failure = calls.after(1).failures.at(0);
  CHECK(failure.evidence.grade() == Grade::inferred);
  CHECK(failure.evidence.text().ends_with("; its thread had already queried this error, and continued"));
}

TEST_CASE("a Python program that ends with its own status may have handled the error") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc").site = 1;
  calls.process.record.sites.resize(1);
  CHECK(calls.after(2).failures.at(0).evidence.grade() == Grade::proven);
  calls.process.record.sites[0].python = 1;
  CHECK(calls.after(1).failures.at(0).evidence.grade() == Grade::proven);
  CHECK(failed_calls(calls.process, ending({std::nullopt, 6})).failures.at(0).evidence.grade() == Grade::proven);
  const Failure failure = calls.after(2).failures.at(0);
  CHECK(failure.evidence.grade() == Grade::suspected);
  CHECK(
      failure.evidence ==
      "the call itself returned the error, and the program ended with status 2 afterwards; Python exits with status 1 "
      "after an uncaught exception");
}

TEST_CASE("a thread that got memory afterwards may have handled an earlier failed allocation") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc").thread = 0;
  CHECK(calls.after(1).failures.at(0).evidence.grade() == Grade::proven);
  session::Allocation& memory = calls.process.record.allocations.emplace_back();
  memory.made = 5;
  CHECK(calls.after(1).failures.at(0).evidence.grade() == Grade::proven);
  memory.made = 15;
  CHECK(calls.after(1).failures.at(0).evidence.text().ends_with("; a later allocation of its thread succeeded"));
  CHECK(calls.after(1).failures.at(0).evidence.grade() == Grade::suspected);
  CHECK(failed_calls(calls.process, ending({std::nullopt, 11})).failures.at(0).evidence.grade() == Grade::suspected);
  memory.thread = 1;
  CHECK(calls.after(1).failures.at(0).evidence.grade() == Grade::proven);
}

TEST_CASE("calls that fail during shutdown are not what the program died of") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc");
  calls.fail("cuMemFree_v2", 1, 0, "cudaFree");
  CHECK(calls.after(1).failures.at(0).code == 2);
  calls.process.record.errors[0].flags |= wire::error::kThenWorked;
  CHECK(calls.after(1).failures.at(0).code == 1);
}

TEST_CASE("a process that did not reach exit() may have become another program") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc");
  calls.process.record.state = wire::area::State::recording;
  CHECK(calls.after(3).failures.at(0).evidence.grade() == Grade::suspected);
  CHECK(calls.after(3).failures[0].evidence.text().ends_with(
      "; it ended without exit(), or replaced itself with another program (exec)"));
  CHECK(failed_calls(calls.process, ending({std::nullopt, 6})).failures.at(0).evidence.grade() == Grade::proven);
  calls.process.record.exit_status = 3;
  CHECK(calls.after(3).failures.at(0).evidence.grade() == Grade::proven);
}

TEST_CASE("if a process's end was not seen, its handled calls do not prove that the program continued") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc");
  Ending end = ending({0, std::nullopt});
  end.of_process = false;
  CHECK(failed_calls(calls.process, end).notes.at(0).text ==
        "1 call of cudaMalloc returned out of memory (2); it is unknown how this process ended");
  calls.process.record.errors[0].flags |= wire::error::kThenWorked;
  CHECK(failed_calls(calls.process, end).notes.at(0).text.ends_with("and the program continued"));
}

TEST_CASE("a program that was ended from the outside did not provably die of its failed call") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc");
  const auto ended_by = [&](int signal) { return failed_calls(calls.process, ending({std::nullopt, signal})); };
  CHECK(ended_by(15).failures.empty());
  CHECK(ended_by(15).notes.at(0).text ==
        "1 call of cudaMalloc returned out of memory (2) and the program continued until signal 15");
  CHECK(ended_by(9).failures.at(0).evidence.grade() == Grade::suspected);
  CHECK(ended_by(6).failures.at(0).evidence.grade() == Grade::proven);
}

TEST_CASE("if some failing calls were not kept, their count is a minimum") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc");
  calls.process.record.error_count = 5;
  CHECK(calls.after(0).notes.at(0).text ==
        "at least 1 call of cudaMalloc returned out of memory (2) and the program continued");
}

TEST_CASE("if only the command's end is known, nothing ties it to the call") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc");
  Ending end = ending({1, std::nullopt});
  end.of_process = false;
  const Failure failure = failed_calls(calls.process, end).failures.at(0);
  CHECK(failure.evidence.grade() == Grade::suspected);
  CHECK(failure.evidence ==
        "the call itself returned the error, and the command ended with status 1 afterwards; it is unknown how this "
        "process ended");
  CHECK(failed_calls(calls.process, Ending{}).failures.empty());
}

TEST_CASE("a sticky error explains the end, so earlier calls are not what the program died of") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc");
  calls.process.record.state = wire::area::State::frozen;
  CHECK(calls.after(1).failures.empty());
}

TEST_CASE("an earlier failure matters only if a later call needs what it failed to create") {
  Calls calls;
  calls.fail("cuMemAlloc_v2", 2).thread = 0;
  session::FailedCall& launch = calls.fail("cuLaunchKernel", 1, wire::error::kLaunch);
  launch.thread = 0;
  const auto swallowed = [&] { return calls.after(1).failures.at(0).swallowed; };
  CHECK(swallowed() == &calls.process.record.errors[0]);
  launch.code = 400;  // error 400 means a bad handle, and a failed allocation yields no handle
  CHECK(swallowed() == nullptr);
  launch.code = 1;
  session::Allocation& memory = calls.process.record.allocations.emplace_back();
  memory.made = 25;
  CHECK(swallowed() == &calls.process.record.errors[0]);
  memory.made = 15;  // the program retried the allocation, and it succeeded
  CHECK(swallowed() == nullptr);
}

TEST_CASE("an earlier failure with nothing issued in between") {
  Calls calls;
  calls.fail("cuModuleGetFunction", 500).operation = 7;
  calls.fail("cuLaunchKernel", 400, wire::error::kLaunch).operation = 8;  // operation 8 is the launch itself
  const auto swallowed = [&] {
    const auto findings = calls.after(0);
    REQUIRE(findings.failures.size() == 1);
    return findings.failures[0].swallowed;
  };
  CHECK(swallowed() == &calls.process.record.errors[0]);
  calls.process.record.errors[1].operation = 9;
  CHECK(swallowed() == nullptr);
  // A launch without a kernel can fail long after the call that failed to load the kernel.
  calls.process.record.sites.resize(1);
  calls.process.record.errors[1].site = 1;
  CHECK(swallowed() == &calls.process.record.errors[0]);
  session::Allocation& memory = calls.process.record.allocations.emplace_back();
  memory.made = calls.process.record.errors[1].ticks - 1;
  memory.thread = static_cast<std::uint16_t>(calls.process.record.errors[0].thread);
  CHECK(swallowed() == &calls.process.record.errors[0]);
  memory = {};
  calls.process.record.sites[0].function = 1;
  calls.process.record.functions = {""};
  CHECK(swallowed() == &calls.process.record.errors[0]);
  calls.process.record.functions = {"fill"};
  CHECK(swallowed() == nullptr);
  calls.process.record.errors[1].operation = 8;
  calls.process.record.errors[0].tid = 2;
  CHECK(swallowed() == nullptr);
}

TEST_CASE("for a launch without a kernel, the latest call that could not load one is named") {
  Calls calls;
  calls.fail("cuModuleGetFunction", 500).operation = 1;  // failed to find an optional kernel
  calls.fail("cuModuleLoad", 301).operation = 7;
  calls.fail("cuModuleUnload", 400).operation = 7;
  session::FailedCall& launch = calls.fail("cuLaunchKernel", 400, wire::error::kLaunch);
  launch.operation = 20;
  launch.site = 1;
  calls.process.record.sites.resize(1);
  CHECK(calls.after(0).failures.back().swallowed == &calls.process.record.errors[1]);
  launch.operation = 8;  // operation 8 is the first one after the failed calls
  CHECK(calls.after(0).failures.back().swallowed == &calls.process.record.errors[1]);
}

TEST_CASE("an earlier failure matters to a rejected copy only through the copy's addresses") {
  using wire::operation::Kind;
  Calls calls;
  auto& record = calls.process.record;
  record.threads.resize(1);
  record.sites.resize(2);
  record.sites[1].kind = Kind::copy;
  calls.fail("cuMemAlloc_v2", 2).operation = 7;
  session::FailedCall& refused = calls.fail("cuMemcpyHtoD_v2", 1);
  refused.operation = 8;  // operation 8 is the copy itself
  refused.site = 2;
  refused.thread = 0;
  refused.started = refused.ticks - 2;
  const auto swallowed = [&] { return calls.after(1).failures.at(0).swallowed; };
  CHECK(swallowed() == &record.errors[0]);  // the record of the copy was lost

  session::Operation& copy = record.operations.emplace_back();
  copy.kind = Kind::copy;
  copy.serial = 8;
  copy.ticks = refused.started;
  copy.source = 0x9000;
  CHECK(swallowed() == &record.errors[0]);
  copy.destination = 0x1000;
  CHECK(swallowed() == &record.errors[0]);  // the destination is in no known allocation
  session::Allocation& rows = record.allocations.emplace_back();
  rows.address = 0x1000;
  rows.bytes = 64;
  CHECK(swallowed() == nullptr);  // the destination is live, and the source may be any host memory
  record.errors[0].call = "cuMemHostAlloc";
  CHECK(swallowed() == &record.errors[0]);
  copy.destination = 0;
  record.errors[0].site = 2;
  CHECK(swallowed() == nullptr);  // the earlier failed call was a copy, and copies return no address
  record.errors[0].site = 0;
  refused.operation = 9;
  CHECK(swallowed() == nullptr);
}

TEST_CASE("a kernel that receives a null pointer after a failed allocation") {
  PictureBuilder picture;
  auto& record = picture.process.record;
  picture.issue(picture.stream(0));
  session::FailedCall failed;
  failed.code = 2;
  failed.thread = 0;
  failed.call = "cuMemAlloc_v2";
  record.errors.insert(record.errors.begin(), failed);
  record.arguments.push_back({1, 0, 0, {{0, std::string(8, '\0')}}});
  Failure failure;
  failure.process = &picture.process;
  failure.candidates = {{&record.operations.front(), "", {}}};
  const auto recalled = [&] {
    failure.swallowed = nullptr;
    recall_failed_allocation(failure);
    return failure.swallowed;
  };
  CHECK(recalled() == &record.errors[0]);
  record.arguments[0].parameters[0].bytes[0] = 1;
  CHECK(recalled() == nullptr);
  record.arguments[0].parameters[0].bytes[0] = 0;
  record.operations.front().serial = record.arguments[0].serial = 2;  // another operation was issued between the failed
                                                                      // call and the launch
  CHECK(recalled() == &record.errors[0]);
  record.errors[0].ticks = record.operations.front().ticks + 1;  // the allocation failed after the launch
  CHECK(recalled() == nullptr);
  record.errors[0].ticks = 0;
  record.errors[0].call = "cuStreamCreate";
  CHECK(recalled() == nullptr);
}

TEST_CASE("a missing function is a finding if no later call is known") {
  Calls calls;
  auto& record = calls.process.record;
  record.threads.resize(2);
  const auto ask = [&](std::uint32_t site) {
    session::FailedCall& asked = calls.fail("cuModuleGetFunction", 500);
    asked.thread = 0;
    asked.site = site;
    record.threads[0].call_ticks = asked.ticks - 1;
  };
  ask(1);
  const auto findings = calls.after(4);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].kind == Kind::sync_error);
  CHECK(findings.failures[0].evidence.grade() == Grade::suspected);
  CHECK(
      findings.failures[0].evidence ==
      "the call itself returned the error, cudadiag saw no later call, and the program ended with status 4 afterwards; "
      "programs also look up functions that need not exist");
  CHECK(calls.after(0).failures.empty());
  CHECK(failed_calls(calls.process, ending({std::nullopt, SIGKILL})).failures.empty());

  SUBCASE("not if any thread continued") { record.threads[1].call_ticks = record.errors[0].ticks + 1; }
  SUBCASE("not if the thread is not recorded") { record.errors[0].thread = 0xffffffff; }
  SUBCASE("not if another call failed after it") { calls.fail("cuModuleUnload", 709); }
  SUBCASE("not if the same line had asked in vain earlier") { ask(1); }
  SUBCASE("not if another failure froze the record") { record.state = wire::area::State::frozen; }
  CHECK(calls.after(4).failures.empty());
}

TEST_CASE("a missing function is not the answer if another call explains the end") {
  Calls calls;
  calls.process.record.threads.resize(1);
  calls.fail("cuModuleLoadData", 209);
  calls.fail("cuModuleGetFunction", 500).thread = 0;
  const auto findings = calls.after(1);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].code == 209);
}

TEST_CASE("a process that has a context found a GPU, whatever its later calls return") {
  constexpr const char* kNone = "CUDA found no usable driver or GPU";
  Calls calls;
  const auto reason = [&] { return calls.after(1).failures.at(0).evidence.text(); };
  SUBCASE("an idiom that starts CUDA") {
    calls.fail("cuDevicePrimaryCtxRetain", 999, 0, "cudaFree_v3020");
    CHECK(reason().starts_with(kNone));
    CHECK(calls.after(0).failures.empty());
    calls.process.record.contexts.emplace_back();  // an unused entry
    CHECK(reason().starts_with(kNone));
    calls.process.record.contexts.back().state = wire::context::State::destroyed;
    CHECK(reason().starts_with("cudaFree_v3020 returned the error"));
    CHECK(calls.after(0).failures.size() == 1);
  }
  SUBCASE("calls whose names begin alike") {
    for (const char* name : {"cudaFreeHost", "cudaFreeAsync", "cudaFreeArray"}) {
      calls.process.record.errors.clear();
      calls.fail(name, 999);
      CHECK(reason().starts_with(std::string(name) + " returned the error"));
      CHECK(calls.after(0).failures.size() == 1);
    }
  }
}
