// Tests dumps from an H200 (data/gpucore). The expected values come from NVIDIA's debugger, and from the registers.
#include <doctest/doctest.h>

#include "evidence/core_facts.h"

using namespace cudadiag::evidence;

namespace {

CoreFacts read_fixture(const std::string& name) {
  auto read = read_core(std::string(TEST_DATA "/gpucore/") + name);
  REQUIRE(std::holds_alternative<CoreFacts>(read));
  CoreFacts facts = std::get<CoreFacts>(std::move(read));
  CHECK(facts.damaged == 0);
  CHECK(facts.devices == std::vector<std::string>{"0: NVIDIA H200, sm_90"});
  CHECK(facts.versions == "driver 580.159, CUDA 13.0");
  REQUIRE(facts.failure);
  return facts;
}

// Checks that the place is at `line` of cases.cu, and not in an inlined function. All dumps but two are from cases.cu.
void check_line(const CodePlace& place, std::uint32_t line) {
  REQUIRE(place.lines.size() == 1);
  CHECK(place.lines[0].function == place.function);
  CHECK(place.lines[0].file == "/tmp/cases/cases.cu");
  CHECK(place.lines[0].line == line);
}

// Checks the third launch of a process. It has `blocks` blocks of 32 threads, and all threads failed in the same way.
void check_launch(const DumpedFailure& failure, std::uint32_t blocks, std::uint32_t host_thread) {
  CHECK(failure.grid_id == 3);
  CHECK(failure.grid == Dim3{blocks, 1, 1});
  CHECK(failure.block_dim == Dim3{32, 1, 1});
  CHECK(failure.host_thread == host_thread);
  CHECK(failure.blocks == blocks);
  CHECK(failure.block == Dim3{0, 0, 0});
  CHECK(failure.device == 0);
  CHECK(failure.sm == 124);
  CHECK(failure.warp == 2);
  CHECK(failure.lane == (*failure.thread)[0]);
  CHECK(failure.message.empty());
}

// `offset` is the offset of the failing instruction. The comment at each call shows that instruction as nvdisasm prints
// it.
void check_code(const DumpedFailure& failure, std::size_t size, std::uint64_t offset) {
  REQUIRE(failure.code);
  CHECK(failure.code->architecture == "sm_90");
  CHECK(failure.code->instructions.size() == size);
  CHECK(failure.code->offset == offset);
}

}  // namespace

TEST_CASE("an assertion has no error PC, so the thread's is used, after the call of the handler") {
  const CoreFacts facts = read_fixture("assert.nvcudmp");
  const DumpedFailure& f = *facts.failure;
  CHECK(facts.failed_sms == std::vector<std::uint32_t>{124, 126});
  CHECK(f.exception == 12);
  CHECK(f.exception_name == "Warp Assert");
  CHECK(f.kernel == "_Z15assert_positivePKi");
  check_launch(f, 2, 642);
  CHECK(f.thread == Dim3{0, 0, 0});
  CHECK(f.threads == 64);
  CHECK(f.witness == PcWitness::thread);
  CHECK(f.place.pc == 0x7f912f7a0b80);
  CHECK(f.place.function == "_Z15assert_positivePKi");
  CHECK(f.place.offset == 0x180);
  check_code(f, 640, 0x170);  // CALL.ABS.NOINC R2
  check_line(f.place, 17);
  CHECK(f.registers.size() == 30);
  CHECK(f.registers[1] == 0xfffc60);
  CHECK(f.callers.empty());
}

TEST_CASE("a bad load") {
  const CoreFacts facts = read_fixture("load.nvcudmp.gz");
  const DumpedFailure& f = *facts.failure;
  CHECK(f.state->variables.empty());  // literals of strings are none
  CHECK(f.state->variable_addresses.size() == 32);
  CHECK(facts.failed_sms == std::vector<std::uint32_t>{124, 126});
  CHECK(f.exception == 14);
  CHECK(f.exception_name == "Warp Illegal Address");
  CHECK(f.kernel == "_Z8far_loadPi");
  check_launch(f, 2, 577);
  CHECK(f.thread == Dim3{0, 0, 0});
  CHECK(f.threads == 64);
  CHECK(f.witness == PcWitness::warp);
  CHECK(f.place.pc == 0x7f21277a0a70);
  CHECK(f.place.function == "_Z8far_loadPi");
  CHECK(f.place.offset == 0x70);
  check_code(f, 384, 0x70);  // LDG.E R5, desc[UR4][R4.64]
  check_line(f.place, 16);
  // Two warps have stopped at the store that waits for the load. R4 and R5 held the address, and R5 now holds the
  // loaded value.
  REQUIRE(f.state);
  REQUIRE(f.state->warps.size() == 2);
  CHECK(f.state->left_out == 0);
  CHECK(f.state->facts.offset == 0x210);
  CHECK(f.state->facts.bytes == 8);
  REQUIRE(f.state->facts.parameters.size() == 1);
  CHECK(f.state->facts.parameters[0].bytes == 8);
  CHECK(f.state->facts.at(7) == &f.state->facts.parameters[0]);
  CHECK(f.state->facts.at(8) == nullptr);
  CHECK(f.state->parameters == std::string("\0\0\xe0\x1f\x21\x7f\0\0", 8));
  CHECK_FALSE(f.state->clusters);
  CHECK(f.state->shared_window == 0x7f2200000000);
  CHECK(f.state->local_window == 0x7f2131000000);
  const FailingWarp& warp = f.state->warps[1];
  CHECK(warp.block == Dim3{1, 0, 0});
  CHECK(warp.together);
  CHECK(warp.uniform_registers.size() == 64);
  CHECK(warp.uniform_predicates == 0x80);
  CHECK(warp.shared_bytes == 1024);  // what the system reserves in every block
  REQUIRE(warp.lanes.size() == 32);
  CHECK(warp.lanes[5].thread == Dim3{5, 0, 0});
  CHECK(warp.lanes[5].stands == 0x90);
  CHECK(warp.lanes[5].predicates == 0x80);
  CHECK(warp.lanes[5].registers.at(4) == 0x1fe00014);
  CHECK(warp.lanes[5].registers.at(5) == 0);
}

TEST_CASE("a misaligned store: the thread has advanced by one instruction") {
  const CoreFacts facts = read_fixture("misaligned.nvcudmp.gz");
  const DumpedFailure& f = *facts.failure;
  CHECK(f.exception == 6);
  CHECK(f.exception_name == "Warp Misaligned Address");
  CHECK(f.kernel == "_Z16misaligned_storePc");
  check_launch(f, 1, 707);
  CHECK(f.thread == Dim3{0, 0, 0});
  CHECK(f.threads == 32);
  CHECK(f.witness == PcWitness::warp);
  CHECK(f.place.pc == 0x7fb93f7a0a70);
  check_line(f.place, 18);
  REQUIRE(f.stands);
  CHECK(f.stands->pc == f.place.pc + 0x10);
  check_line(*f.stands, 18);
}

// The kernel is `extern "C" __global__ void good(int* p) { p[threadIdx.x] = threadIdx.x * 3; }`. Its fourth instruction
// was overwritten with ones. It is the only launch of its process.
TEST_CASE("an illegal instruction") {
  const CoreFacts facts = read_fixture("illegal.nvcudmp.gz");
  const DumpedFailure& f = *facts.failure;
  CHECK(f.exception == 4);
  CHECK(f.exception_name == "Warp Illegal Instruction");
  CHECK(f.kernel == "good");
  CHECK(f.grid_id == 1);
  CHECK(f.grid == Dim3{1, 1, 1});
  CHECK(f.block_dim == Dim3{32, 1, 1});
  CHECK(f.block == Dim3{0, 0, 0});
  CHECK(f.thread == Dim3{0, 0, 0});
  CHECK(f.threads == 32);
  CHECK(f.witness == PcWitness::warp);
  CHECK(f.place.pc == 0x7f0dab7a0030);
  CHECK(f.place.offset == 0x30);
  REQUIRE(f.place.lines.size() == 1);
  CHECK(f.place.lines[0].file == "/tmp/ill/k.cu");
  CHECK(f.place.lines[0].line == 1);
  REQUIRE(f.stands);
  CHECK(f.stands->pc == f.place.pc + 0x10);
}

// The dump of torch.nn.Embedding with an index out of range, in PyTorch 2.11. The kernel's code has no line
// information.
TEST_CASE("an assertion in PyTorch's own code") {
  const CoreFacts facts = read_fixture("pytorch.nvcudmp.gz");
  const DumpedFailure& f = *facts.failure;
  CHECK(f.exception == 12);
  CHECK(f.exception_name == "Warp Assert");
  CHECK(f.kernel.starts_with("_ZN2at6native24vectorized_gather_kernelILi16ElEE"));
  CHECK(f.grid_id == 2);
  CHECK(f.grid == Dim3{256, 1, 1});
  CHECK(f.block_dim == Dim3{32, 1, 1});
  CHECK(f.block == Dim3{7, 0, 0});
  CHECK(f.thread == Dim3{0, 0, 0});
  CHECK(f.threads == 32);
  CHECK(f.blocks == 1);
  CHECK(f.sm == 127);
  CHECK(f.witness == PcWitness::thread);
  CHECK(f.place.pc == 0x7fb03b7a2d80);
  CHECK(f.place.offset == 0x280);
  CHECK(f.place.lines.empty());
}

TEST_CASE("a trap: no exception anywhere, one thread of a broken warp") {
  const CoreFacts facts = read_fixture("trap.nvcudmp.gz");
  const DumpedFailure& f = *facts.failure;
  CHECK(facts.failed_sms.empty());
  CHECK(f.exception == 0);
  CHECK(f.exception_name == "Trap Instruction");
  CHECK(f.kernel == "_Z9trap_herePi");
  check_launch(f, 1, 772);
  CHECK(f.thread == Dim3{3, 0, 0});
  CHECK(f.threads == 1);
  CHECK(f.witness == PcWitness::thread);
  CHECK(f.place.pc == 0x7f97a37a0a60);
  CHECK(f.place.offset == 0x60);
  check_code(f, 384, 0x50);  // BPT.TRAP 0x1
  check_line(f.place, 21);
  REQUIRE(f.trap);
  CHECK(f.trap->line == 20);
}

TEST_CASE("a stack overflow: the store, where the thread is now, and its six frames") {
  const CoreFacts facts = read_fixture("stack.nvcudmp.gz");
  const DumpedFailure& f = *facts.failure;
  CHECK(f.exception == 5);
  CHECK(f.exception_name == "Warp Out-of-range Address");
  CHECK(f.kernel == "_Z14overflow_stackPi");
  check_launch(f, 1, 841);
  CHECK(f.threads == 32);
  CHECK(f.witness == PcWitness::warp);
  CHECK(f.place.pc == 0x7f54037a0ba0);
  CHECK(f.place.function == "_Z4deepPii");
  CHECK(f.place.offset == 0xf0);
  check_line(f.place, 25);
  REQUIRE(f.stands);
  CHECK(f.stands->function == "_Z4deepPii");
  CHECK(f.stands->offset == 0);
  check_line(*f.stands, 23);
  REQUIRE(f.callers.size() == 5);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(f.callers[i].function == "_Z4deepPii");
    check_line(f.callers[i], 26);
  }
  CHECK(f.callers[4].function == "_Z14overflow_stackPi");
  check_line(f.callers[4], 28);
}

TEST_CASE("shared memory out of range") {
  const CoreFacts facts = read_fixture("shared.nvcudmp.gz");
  const DumpedFailure& f = *facts.failure;
  CHECK(f.exception == 5);
  CHECK(f.exception_name == "Warp Out-of-range Address");
  CHECK(f.kernel == "_Z19shared_out_of_rangePii");
  check_launch(f, 1, 907);
  CHECK(f.thread == Dim3{0, 0, 0});
  CHECK(f.threads == 32);
  REQUIRE(f.state);
  REQUIRE(f.state->warps.size() == 1);
  CHECK(f.state->warps[0].shared_bytes == 2048);  // 1024 bytes for the system, and 1024 for the kernel
  CHECK(f.state->facts.parameters.size() == 2);
  CHECK(f.state->facts.at(11)->index == 1);
  CHECK(f.place.pc == 0x7fce8f7a0a90);
  CHECK(f.place.offset == 0x90);
  check_line(f.place, 31);
}

TEST_CASE("stores whose warps had exited: only what the SM says, and nothing invented") {
  struct {
    const char* name;
    std::vector<std::uint32_t> sms;
    const char* function;
    std::uint64_t pc, offset;
    std::uint32_t line;
  } const dumps[] = {{"far.nvcudmp.gz", {124, 126}, "_Z9far_storePi", 0x7f89bb7a0a80, 0x80, 15},
                     {"freed.nvcudmp.gz", {124}, "_Z4fillPii", 0x7fa6db7a0060, 0x60, 8}};
  for (const auto& dump : dumps) {
    CAPTURE(dump.name);
    const CoreFacts facts = read_fixture(dump.name);
    const DumpedFailure& f = *facts.failure;
    CHECK(facts.failed_sms == dump.sms);
    CHECK(f.exception == 14);
    CHECK(f.exception_name == "Warp Illegal Address");
    CHECK(f.device == 0);
    CHECK(f.sm == 124);
    CHECK(f.witness == PcWitness::sm);
    CHECK(f.place.pc == dump.pc);
    CHECK(f.place.function == dump.function);
    CHECK(f.place.offset == dump.offset);
    check_line(f.place, dump.line);
    CHECK(f.kernel == dump.function);
    CHECK_FALSE(f.warp);
    CHECK_FALSE(f.lane);
    CHECK_FALSE(f.block);
    CHECK_FALSE(f.thread);
    CHECK_FALSE(f.threads);
    CHECK_FALSE(f.blocks);
    CHECK_FALSE(f.grid_id);
    CHECK_FALSE(f.grid);
    CHECK_FALSE(f.block_dim);
    CHECK_FALSE(f.host_thread);
    CHECK(f.registers.empty());
    REQUIRE(f.state);
    CHECK(f.state->warps.empty());
    CHECK(f.state->parameters.empty());
    CHECK(f.state->facts.offset == 0x210);
    CHECK(f.callers.empty());
  }
}
