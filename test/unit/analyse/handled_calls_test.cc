#include <doctest/doctest.h>

#include <initializer_list>
#include <utility>

#include "unit/analyse/failing_calls.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

using Calls = FailingCalls;

namespace {

// Makes a launch of process 1 fail, called by the given modules, innermost first.
Calls launch_from(std::initializer_list<const char*> modules) {
  Calls calls;
  session::ProcessRecord& record = calls.process.record;
  record.native_stacks.emplace_back();
  for (const char* path : modules) {
    record.modules.push_back({path, "", 0, 0, 0});
    record.native_stacks[0].frames.push_back({static_cast<std::uint32_t>(record.modules.size()), 16});
  }
  record.sites.resize(1);
  record.sites[0].native = 1;
  calls.fail("cuLaunchKernel", 1, wire::error::kLaunch, "", 1);
  return calls;
}

constexpr const char *kDriver = "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                     *kFfi = "/usr/lib/x86_64-linux-gnu/libffi.so.8", *kPython = "/usr/bin/python3.12";

}  // namespace

TEST_CASE("a code that a script gets as a value is not unchecked") {
  for (const char* binding : {kFfi, "/v/site-packages/cuda/bindings/_internal/driver.cpython-312-x86_64-linux-gnu.so",
                              "/v/site-packages/cuda/_cuda/ccuda.cpython-310-x86_64-linux-gnu.so",
                              "/v/site-packages/cupy_backends/cuda/api/driver.cpython-312-x86_64-linux-gnu.so",
                              "/v/site-packages/pycuda/_driver.cpython-312-x86_64-linux-gnu.so"}) {
    INFO(binding);
    const Calls calls = launch_from({kDriver, binding, kPython});
    const auto findings = calls.after(0);
    CHECK(findings.failures.empty());
    REQUIRE(findings.notes.size() == 1);
    CHECK(findings.notes[0].text == "1 call of cuLaunchKernel returned invalid argument (1) and the program continued");
    CHECK(calls.after(1).failures.at(0).kind == Kind::sync_error);
  }
}

TEST_CASE("a code that a library below the script gets may be unchecked") {
  for (const char* library : {"/home/u/libsolver.so", "/v/site-packages/solver/ops.cpython-312-x86_64-linux-gnu.so",
                              "/home/u/cuda/core/libsolver.so", "/v/site-packages/torch/lib/libtorch_cuda.so"}) {
    INFO(library);
    CHECK(launch_from({kDriver, library, kFfi, kPython}).after(0).failures.at(0).kind == Kind::unchecked_error);
  }
  CHECK(launch_from({kDriver}).after(0).failures.size() == 1);
}

TEST_CASE("a child that chose its exit status has answered a parent that succeeds") {
  Calls calls;
  calls.process.pid = 4712;
  calls.process.record.sites.resize(1);
  calls.process.record.sites[0].python = 1;
  calls.fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc", 1);
  const auto ended = [&](int status, bool command_succeeded) {
    Ending end = ending({status, std::nullopt});
    end.command_succeeded = command_succeeded;
    return failed_calls(calls.process, end);
  };
  CHECK(ended(3, true).failures.empty());
  CHECK(ended(3, true).notes.at(0).text ==
        "1 call of cudaMalloc returned out of memory (2); process 4712 ended with status 3, but the command succeeded");
  CHECK(!ended(3, true).notes.at(0).calls);
  CHECK(ended(3, false).failures.at(0).evidence.grade() == Grade::suspected);
  CHECK(ended(1, true).failures.at(0).evidence.grade() == Grade::proven);
  calls.process.record.sites[0].python = 0;
  CHECK(ended(3, true).failures.at(0).evidence.grade() == Grade::proven);
}

TEST_CASE("a process's own end does not say whether the command succeeded") {
  session::Session session;
  session::Process child;
  child.record.exit_status = 3;
  CHECK(!ending_of(session, child).command_succeeded);
  session.manifest.passes.emplace_back().end = {0, std::nullopt};
  CHECK(ending_of(session, child).command_succeeded);
  CHECK(ending_of(session, child).status == 3);
  session.manifest.passes[0].end = {3, std::nullopt};
  CHECK(!ending_of(session, child).command_succeeded);
}

TEST_CASE("a program may die of a call that is refused because a context is gone") {
  Calls calls;
  calls.fail("cuStreamWaitEvent", 709, 0, "cudaStreamWaitEvent");
  const auto findings = calls.after(9);
  REQUIRE(findings.failures.size() == 1);
  CHECK(findings.failures[0].kind == Kind::sync_error);
  CHECK(findings.failures[0].evidence.grade() == Grade::proven);
  CHECK(calls.after(0).failures.empty());
  CHECK(calls.after(0).notes.empty());
  calls.process.record.errors[0].flags = wire::error::kThenWorked;
  CHECK(calls.after(9).failures.empty());
  calls.process.record.errors[0].flags = 0;
  calls.process.record.errors[0].call = "cuEventDestroy_v2";
  calls.process.record.errors[0].outer = "cudaEventDestroy";
  CHECK(calls.after(9).failures.empty());
}

TEST_CASE("a call of a destructor that runs after exit() is not what the program died of") {
  Calls calls;
  calls.fail("cuStreamSynchronize", 709);
  session::ProcessRecord& record = calls.process.record;
  record.state = wire::area::State::finished;
  record.exit_status = 3;
  record.clock_last = record.errors[0].ticks - 1;
  CHECK(calls.after(3).failures.empty());
  CHECK(calls.after(1).failures.size() == 1);  // a handler has changed the status
  CHECK(failed_calls(calls.process, ending({std::nullopt, 6})).failures.size() == 1);
  record.clock_last = record.errors[0].ticks + 1;
  CHECK(calls.after(3).failures.size() == 1);
}

TEST_CASE("enabling what is enabled already ends a program only if no CUDA call follows") {
  for (const auto& [call, code] : {std::pair{"cuCtxEnablePeerAccess", 704u}, {"cuGraphExecUpdate_v2", 910u}}) {
    Calls calls;
    calls.fail(call, code).thread = 0;
    calls.process.record.threads.resize(1);
    const auto findings = calls.after(1);
    REQUIRE(findings.failures.size() == 1);
    CHECK(findings.failures[0].evidence.grade() == Grade::suspected);
    CHECK(findings.failures[0].evidence ==
          "the call itself returned the error, cudadiag saw no later call, and the program ended with status 1 "
          "afterwards; programs also expect this error, and continue");
    CHECK(calls.after(0).failures.empty());
    calls.process.record.threads[0].call_ticks = 11;
    CHECK(calls.after(1).failures.empty());
  }
}
