// Tests the parser of cuda-gdb's output. The texts have the format shown in the CUDA-GDB manual ("GPU core dump
// support", "Displaying the error PC") and in published sessions. Their values come from the dumps in data/gpucore.
#include <doctest/doctest.h>

#include "evidence/core_facts.h"
#include "evidence/tool_text.h"

using namespace cudadiag::evidence;

namespace {

constexpr const char* kLoad = R"(Opening GPU coredump: /tmp/dumps/load.nvcudmp

CUDA Exception: Warp Illegal Address
The exception was triggered at PC 0x7f21277a0a70  far_load(int*)  (cases.cu:16)
[Current focus set to CUDA kernel 0, grid 3, block (0,0,0), thread (0,0,0), device 0, sm 124, warp 2, lane 0]
#0  0x00007f21277a0a90 in far_load(int*)<<<(2,1,1),(32,1,1)>>> () at /tmp/cases/cases.cu:16
16	/tmp/cases/cases.cu: No such file or directory.
$1 = 0x7f21277a0a70
$2 = 0x7f21277a0a90
#0  0x00007f21277a0a90 in far_load(int*)<<<(2,1,1),(32,1,1)>>> () at /tmp/cases/cases.cu:16
)";

DumpedFailure failure_of(const std::string& dump) {
  const auto read = read_core(std::string(TEST_DATA "/gpucore/") + dump);
  REQUIRE(std::holds_alternative<CoreFacts>(read));
  REQUIRE(std::get<CoreFacts>(read).failure);
  return *std::get<CoreFacts>(read).failure;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

using Fields = std::vector<std::string>;

}  // namespace

TEST_CASE("cuda-gdb 13.0's output for an assertion, and for a stack overflow") {
  const CrossCheck assertion = cross_check(failure_of("assert.nvcudmp"), debugger_facts(R"(Opening GPU coredump: a
[Current focus set to CUDA kernel 0, grid 3, block (0,0,0), thread (0,0,0), device 0, sm 124, warp 2, lane 0]

Assertion failed.
#0  0x00007f912f7a0b80 in assert_positive<<<(2,1,1),(32,1,1)>>> () at /tmp/cases/cases.cu:17
warning: 17\t/tmp/cases/cases.cu: No such file or directory
$1 = <unavailable>
$2 = 0x7f912f7a0b80
#0  0x00007f912f7a0b80 in assert_positive<<<(2,1,1),(32,1,1)>>> () at /tmp/cases/cases.cu:17
)"));
  CHECK(assertion.same ==
        std::vector<std::string>{"exception", "kernel", "grid", "block size", "block", "thread", "line", "PC"});
  CHECK(assertion.different.empty());
  const CrossCheck stack = cross_check(failure_of("stack.nvcudmp.gz"), debugger_facts(R"(Opening GPU coredump: s
[Current focus set to CUDA kernel 0, grid 3, block (0,0,0), thread (0,0,0), device 0, sm 124, warp 2, lane 0]

CUDA Exception: Warp Out-of-range Address
The exception was triggered at PC 0x7f54037a0ba0  deep(int*, int) [clone overflow_stack(int*)]  (cases.cu:25)
#0  deep(int*, int) [clone overflow_stack(int*)] () at /tmp/cases/cases.cu:23
warning: 23\t/tmp/cases/cases.cu: No such file or directory
$1 = 0x7f54037a0ba0
$2 = 0x7f54037a0ab0
#0  deep(int*, int) [clone overflow_stack(int*)] () at /tmp/cases/cases.cu:23
#1  0x00007f54037a0c00 in deep(int*, int) [clone overflow_stack(int*)] () at /tmp/cases/cases.cu:26
#5  0x00007f54037a0a70 in overflow_stack<<<(1,1,1),(32,1,1)>>> () at /tmp/cases/cases.cu:28
)"));
  CHECK(stack.same ==
        std::vector<std::string>{"exception", "kernel", "grid", "block size", "block", "thread", "line", "PC"});
  CHECK(stack.different.empty());
}

TEST_CASE("a core dump as cuda-gdb shows it") {
  const DebuggerFacts said = debugger_facts(kLoad);
  CHECK(said.exception == "Warp Illegal Address");
  CHECK(said.error_pc == 0x7f21277a0a70);
  CHECK(said.pc == 0x7f21277a0a90);
  CHECK(said.error_line.file == "cases.cu");
  CHECK(said.error_line.line == 16);
  CHECK(said.line.file == "/tmp/cases/cases.cu");
  CHECK(said.line.line == 16);
  CHECK(said.kernel == "far_load(int*)");
  CHECK(said.grid == Dim3{2, 1, 1});
  CHECK(said.block_dim == Dim3{32, 1, 1});
  CHECK(said.block == Dim3{0, 0, 0});
  CHECK(said.thread == Dim3{0, 0, 0});
}

TEST_CASE("the debugger agrees with the dump") {
  const CrossCheck check = cross_check(failure_of("load.nvcudmp.gz"), debugger_facts(kLoad));
  CHECK(check.same == Fields{"exception", "kernel", "grid", "block size", "block", "thread", "line", "PC"});
  CHECK(check.different.empty());
  CHECK(sentences(DebuggerCheck{"", check}) ==
        Fields{"cuda-gdb agrees: exception, kernel, grid, block size, block, thread, line, PC"});
  CHECK(outcome(DebuggerCheck{"", check}) == "cuda-gdb agrees");
}

TEST_CASE("every field that differs is shown with both values") {
  const DumpedFailure failure = failure_of("load.nvcudmp.gz");
  const struct {
    const char *was, *is, *sentence;
  } changes[] = {
      {"Warp Illegal Address", "Warp Assert", "exception Warp Assert instead of Warp Illegal Address"},
      {"far_load(int*)<<<", "far_store(int*)<<<", "kernel far_store(int*) instead of far_load(int*)"},
      {"<<<(2,1,1)", "<<<(3,1,1)", "grid 3,1,1 instead of 2,1,1"},
      {"(32,1,1)>>>", "(64,1,1)>>>", "block size 64,1,1 instead of 32,1,1"},
      {", block (0,0,0)", ", block (1,0,0)", "block 1,0,0 instead of 0,0,0"},
      {", thread (0,0,0)", ", thread (7,0,0)", "thread 7,0,0 instead of 0,0,0"},
      {"(cases.cu:16)", "(cases.cu:17)", "line cases.cu:17 instead of /tmp/cases/cases.cu:16"},
      {"triggered at PC 0x7f21277a0a70", "triggered at PC 0x7f21277a0a80",
       "PC 0x7f21277a0a80 instead of 0x7f21277a0a70"},
  };
  for (const auto& change : changes) {
    const DebuggerCheck witness = debugger_check(failure, replaced(kLoad, change.was, change.is), "");
    CHECK(witness.check.same.size() == 7);
    REQUIRE(witness.check.different.size() == 1);
    CHECK(sentences(witness).front() == std::string("cuda-gdb differs: ") + change.sentence);
    CHECK(outcome(witness) == "cuda-gdb differs: " + witness.check.different[0].field);
  }
}

TEST_CASE("what the debugger omits is not compared") {
  const CrossCheck check =
      cross_check(failure_of("load.nvcudmp.gz"), debugger_facts("CUDA Exception: Warp Illegal Address\n"));
  CHECK(check.same == Fields{"exception"});
  CHECK(check.different.empty());
  // The dump does not contain the grid of a warp that has exited.
  const CrossCheck far = cross_check(failure_of("far.nvcudmp.gz"), debugger_facts(kLoad));
  for (const std::string& field : far.same) CHECK(field != "grid");
  for (const Difference& difference : far.different) CHECK(difference.field != "grid");
}

TEST_CASE("a trap has no code: the debugger names a signal") {
  const DebuggerFacts said = debugger_facts(
      "[Current focus set to CUDA kernel 0, grid 3, block (0,0,0), thread (3,0,0), device 0, sm 124, warp 2, lane 3]\n"
      "\nThread 1 received signal SIGTRAP, Trace/breakpoint trap.\n"
      "#0  0x00007f21277a0a90 in trap_here(int*)<<<(1,1,1),(32,1,1)>>> () at cases.cu:21\n");
  CHECK(said.exception == "");
  CHECK(cross_check(failure_of("trap.nvcudmp.gz"), said).same ==
        Fields{"kernel", "grid", "block size", "block", "thread", "line"});
}

TEST_CASE("the exception of a signal, frames over several lines, clusters and device functions") {
  const DebuggerFacts said = debugger_facts(
      "Thread 1 \"bench\" received signal CUDA_EXCEPTION_6, Warp Misaligned Address.\n"
      "[Switching focus to CUDA kernel 0, grid 1399, cluster (4,0,0), block (0,1,15), thread (0,3,0), device 0, sm 0]\n"
      "#0  0x00007fff20cd8fe0 in _INTERNAL_7bc1cc71::copy<16, 0>\n"
      "   (dst=0x7fff9bfffc88, src=0x7fff2c3a2700)\n"
      "    at /home/me/ggml/common.cuh:682\n"
      "#1  0x00007fff20cd9000 in attend<64, (ggml_type)1>\n"
      "   <<<(1,3,28),(2,1,1),(32,4,1)>>> (a=0x7f) at /home/me/ggml/attend.cu:9\n");
  CHECK(said.exception == "Warp Misaligned Address");
  CHECK(said.block == Dim3{0, 1, 15});
  CHECK(said.thread == Dim3{0, 3, 0});
  CHECK(said.pc == 0x7fff20cd8fe0);
  CHECK(said.line.file == "/home/me/ggml/common.cuh");
  CHECK(said.line.line == 682);
  CHECK(said.kernel == "attend<64, (ggml_type)1>");
  CHECK(said.grid == Dim3{1, 3, 28});
  CHECK(said.block_dim == Dim3{32, 4, 1});
}

TEST_CASE("both spellings mean the same kernel, but a different name does not") {
  DumpedFailure failure;
  const auto same = [&](const char* mangled, const std::string& spelt) {
    failure.kernel = mangled;
    return cross_check(failure, debugger_facts("#0  0x1 in " + spelt + "<<<(1,1,1),(1,1,1)>>> ()\n")).same ==
           Fields{"kernel"};
  };
  CHECK(same("_Z8far_loadPi", "far_load(int*)"));
  CHECK(same("_Z8far_loadPi", "far_load"));
  CHECK(same("_Z8far_loadPi", "far_load(int *)"));
  CHECK(!same("_Z8far_loadPi", "far_load(long*)"));
  CHECK(!same("_Z8far_loadPi", "far_loads"));
  CHECK(same("_Z5scaleIfEvPT_", "void scale<float>(float*)"));
  CHECK(same("_ZN12_GLOBAL__N_15scaleEv", "(anonymous namespace)::scale()"));
  CHECK(same("plain", "plain"));
}

TEST_CASE("a line that the failing one was inlined into does not agree") {
  DumpedFailure failure;
  failure.witness = PcWitness::warp;
  failure.place.lines = {{"leaf", "/src/leaf.cuh", 8}, {"kernel", "/src/kernel.cu", 20}};
  const CrossCheck check =
      cross_check(failure, debugger_facts("The exception was triggered at PC 0x0  kernel()  (kernel.cu:20)\n"));
  REQUIRE(check.different.size() == 1);
  CHECK(check.different[0].there == "kernel.cu:20 (into which it was inlined)");
}

TEST_CASE("a debugger that failed is ignored, whatever it printed before") {
  const DebuggerCheck witness = debugger_check(failure_of("load.nvcudmp.gz"), kLoad, "signal 6");
  CHECK(sentences(witness) == Fields{"cuda-gdb failed on this dump (signal 6)"});
  CHECK(witness.check.same.empty());
  CHECK(outcome(witness) == "cuda-gdb failed");
  CHECK(sentences(debugger_check(failure_of("load.nvcudmp.gz"), "nothing of use\n", "")) ==
        Fields{"cuda-gdb reported nothing that can be compared"});
}

TEST_CASE("any text is handled, and only known forms are accepted") {
  for (const std::string& part : {std::string("(4294967296,1,1)"), std::string("(1,1)"), std::string("(-1,0,0)"),
                                  std::string("("), std::string("(1,1,1"), std::string(1 << 16, '(')}) {
    const DebuggerFacts said = debugger_facts("[Current focus set to, block " + part + ", thread " + part +
                                              "]\n#0  k<<<" + part + "," + part + ">>> ()\n");
    CHECK(!said.block);
    CHECK(!said.grid);
  }
  const std::string text = kLoad;
  for (std::size_t size = 0; size < text.size(); ++size) {
    debugger_facts(text.substr(0, size));
    debugger_facts(text.substr(size));
  }
  CHECK(debugger_facts("CUDA Exception: " + std::string(1 << 20, 'x')).exception == "");
  CHECK(debugger_facts("#0  0x1 in " + std::string(5000, 'k') + "<<<(1,1,1),(1,1,1)>>> ()").kernel.size() == 4096);
  CHECK(debugger_facts(std::string(1 << 16, '#')).kernel == "");
}
