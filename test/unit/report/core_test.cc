#include "report/core.h"

#include <doctest/doctest.h>

#include "evidence/core_facts.h"
#include "unit/evidence/sample_dump.h"

namespace core_test {

using namespace cudadiag::evidence;
using namespace cudadiag::report;

namespace {

CoreFacts sample() {
  const std::string file = sample_dump().bytes();
  return *examine(Bytes(file.data(), file.size()));
}

// Builds the state after a failed store in code without line information. The warp of the store has exited.
CoreFacts exited() {
  DumpedFailure failure;
  failure.exception = 14;
  failure.exception_name = "Warp Illegal Address";
  failure.sm = 5;
  failure.witness = PcWitness::sm;
  failure.place = {.pc = 0x1010, .function = "_Z4fillPii", .offset = 0x10};
  failure.kernel = "_Z4fillPii";
  CoreFacts facts;
  facts.devices = {"0: GPU"};
  facts.failed_sms = {5, 9};
  facts.failure = failure;
  facts.damaged = 1;
  return facts;
}

// Returns the content of a dump that cudadiag requested: a kernel is running, and nothing has failed.
CoreFacts asked_for() {
  const std::string file = sample_dump().bytes();
  auto dump = Dump::read(Bytes(file.data(), file.size()));
  REQUIRE(dump);
  CoreFacts facts;
  facts.running = running_kernels(*dump, DeviceCode(dump->code, dump->budget()));
  return facts;
}

}  // namespace

TEST_CASE("the text of a completely known failure") {
  CHECK(core_page({sample()}).print() == R"(Warp Illegal Address (14) in deep(int*)
Message too far
Line    /src/b.cuh:3 in leaf(int*)
inlined /src/a.cu:30 in mid(int*)
inlined /src/a.cu:21 in deep(int*)
Kernel  kernel(int*)  grid 2,1,1  block 2,1,1  grid id 7  launched by host thread 4711
Failed  1 thread of 1 block; first: block 1,0,0, thread 1,0,0 (SM 1, warp 3, lane 1)
PC      0x7f0000001090, deep(int*)+0x10
Stopped 0x7f00000010a0, deep(int*)+0x20, /src/a.cu:22
from    kernel(int*)+0x40, /src/a.cu:12
R0      00000011 00000022
Device  0: GPU, sm_90
Made by driver 580.65, CUDA 13.0
)");
}

TEST_CASE("the failing instruction is shown if it could be disassembled") {
  CHECK(core_page({sample(), "STG.E desc[UR4][R2.64], R5"})
            .print()
            .find("deep(int*)+0x10\nCode    STG.E desc[UR4][R2.64], R5\nStopped") != std::string::npos);
  CHECK(write_core_json({sample(), "EXIT"}).find("\"instruction\": \"EXIT\"") != std::string::npos);
  CHECK(write_core_json({sample()}).find("\"instruction\": null") != std::string::npos);
}

TEST_CASE("the text of a failure says what is unknown") {
  CHECK(core_page({exited()}).print() == R"(Warp Illegal Address (14) in fill(int*, int)
Line    unknown: the code has no line information (nvcc -lineinfo)
Kernel  fill(int*, int); its grid is not in the dump
Failed  unknown threads: their warp had exited (SM 5)
PC      0x1010, fill(int*, int)+0x10, reported by the SM
SMs     5, 9 report an exception
Device  0: GPU
Damaged 1 part of the dump could not be read
)");
}

TEST_CASE("the text names the instruction before a trap, and the depth of recursion") {
  CoreFacts facts;
  DumpedFailure failure;
  failure.exception_name = "Trap Instruction";
  failure.witness = PcWitness::thread;
  failure.place = {
      .pc = 0x60, .function = "k", .offset = 0x60, .lines = {{.function = "k", .file = "a.cu", .line = 21}}};
  failure.trap = SourceLine{.function = "k", .file = "a.cu", .line = 20};
  failure.callers = {{.pc = 0x90, .function = "k", .offset = 0x90}, {.pc = 0x90, .function = "k", .offset = 0x90}};
  facts.failure = failure;
  const std::string text = core_page({facts}).print();
  CHECK(text.find("Line    a.cu:21\nTrap    a.cu:20, the preceding instruction\n") != std::string::npos);
  CHECK(text.find("from    k+0x90 (2 times)\n") != std::string::npos);
}

TEST_CASE("a dump without a failure") {
  CHECK(core_page({}).print() == "No exception: this dump was requested, not caused by a failure\n");
  CoreFacts damaged;
  damaged.damaged = 2;
  CHECK(core_page({damaged}).print() ==
        "No exception in the parts that could be read\nDamaged 2 parts of the dump could not be read\n");
}

TEST_CASE("the JSON of a completely known failure") {
  CHECK(write_core_json({sample()}) == R"json({
  "exception": "Warp Illegal Address",
  "function": "leaf(int*)",
  "file": "/src/b.cuh",
  "line": 3,
  "block": [
    1,
    0,
    0
  ],
  "thread": [
    1,
    0,
    0
  ],
  "message": "too far",
  "kernel": "kernel(int*)",
  "grid": [
    2,
    1,
    1
  ],
  "block_dim": [
    2,
    1,
    1
  ],
  "pc": "0x7f0000001090",
  "instruction": null,
  "access": null,
  "inline": [
    {
      "function": "leaf(int*)",
      "file": "/src/b.cuh",
      "line": 3
    },
    {
      "function": "mid(int*)",
      "file": "/src/a.cu",
      "line": 30
    },
    {
      "function": "deep(int*)",
      "file": "/src/a.cu",
      "line": 21
    }
  ],
  "grid_id": 7,
  "threads": 1,
  "running": [],
  "cuda_gdb": null
}
)json");
}

TEST_CASE("JSON has null for unknown values") {
  CHECK(write_core_json({exited()}) == R"json({
  "exception": "Warp Illegal Address",
  "function": "fill(int*, int)",
  "file": null,
  "line": null,
  "block": null,
  "thread": null,
  "message": null,
  "kernel": "fill(int*, int)",
  "grid": null,
  "block_dim": null,
  "pc": "0x1010",
  "instruction": null,
  "access": null,
  "inline": [],
  "grid_id": null,
  "threads": null,
  "running": [],
  "cuda_gdb": null
}
)json");
  CHECK(write_core_json({}).starts_with("{\n  \"exception\": null,\n  \"function\": null,"));
}

TEST_CASE("arbitrary names stay valid JSON") {
  CoreFacts facts = exited();
  facts.failure->kernel = "\xff\"\n";
  CHECK(write_core_json({facts}).find(R"("kernel": "\ufffd\"\n",)") != std::string::npos);
}

TEST_CASE("JSON contains the debugger's answer if it was asked") {
  const auto member = [](const DebuggerCheck& witness) {
    const std::string json = write_core_json({exited(), "", {}, witness});
    return json.substr(json.find("\"cuda_gdb\""));
  };
  CHECK(member({"", {{"exception"}, {{"PC", "0x1010", "0x1020"}}}}) == R"json("cuda_gdb": {
    "failed": null,
    "same": [
      "exception"
    ],
    "different": [
      {
        "field": "PC",
        "here": "0x1010",
        "there": "0x1020"
      }
    ]
  }
}
)json");
  const std::string failed = member({"cuda-gdb failed on this dump (signal 6)", {}});
  CHECK(failed.find(R"x("failed": "cuda-gdb failed on this dump (signal 6)",)x") != std::string::npos);
}

TEST_CASE("a requested dump says what was running") {
  const std::string text = core_page({asked_for()}).print();
  CHECK(text.starts_with(R"(No exception: this dump was requested, not caused by a failure
Kernel  kernel(int*)  grid 2,1,1  block 2,1,1  grid id 7  launched by host thread 4711
Running 2 threads of 1 block
Stopped )"));
  CHECK(write_core_json({asked_for()}).find("\"kernel\": \"kernel(int*)\"") != std::string::npos);
}

TEST_CASE("a dump without running kernels says so") {
  CoreFacts facts;
  facts.devices = {"0: GPU"};
  CHECK(core_page({facts}).print() ==
        "No exception: this dump was requested, not caused by a failure\nKernel  none was running\nDevice  0: GPU\n");
}

}  // namespace core_test
