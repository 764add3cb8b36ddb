// The facts about a failure in a GPU core dump, as plain data. Facts that the hardware did not keep are marked as
// unknown. Function names are mangled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence/dump.h"
#include "evidence/exceptions.h"
#include "evidence/failing_state.h"

namespace cudadiag::evidence {

struct SourceLine {
  std::string function;
  std::string file;
  std::uint32_t line = 0;
};

// An instruction in device code.
struct CodePlace {
  std::uint64_t pc = 0;
  std::string function{};           // empty if the dump does not contain the code around it
  std::uint64_t offset = 0;         // offset in the function
  std::vector<SourceLine> lines{};  // innermost first, from inlined functions to the function itself; empty if unknown
};

// The code around the failing instruction, for a disassembler. This is either the whole kernel, including the functions
// that only this kernel calls, or a function that several kernels call.
struct FunctionCode {
  static constexpr std::uint64_t kLargest = 4u << 20;

  std::string architecture;  // "sm_90"
  std::string instructions;  // bytes as in the GPU's memory
  std::uint64_t offset = 0;  // offset of the failing instruction in `instructions`
};

// Where the PC comes from. A warp or an SM reports the failing instruction, but a thread reports only its next
// instruction.
enum class PcWitness { warp, sm, thread };

struct DumpedFailure {
  bool asserted() const { return exception == kAssertion; }

  std::uint32_t exception = 0;  // 0 for a trap instruction
  std::string exception_name;
  std::string message;  // the driver's own message, if there is one

  // The first failing thread, in the order of blocks and threads; unknown if its warp has exited.
  std::optional<std::uint32_t> warp, lane;
  std::optional<Dim3> block, thread;
  std::uint32_t device = 0, sm = 0;
  std::optional<std::uint64_t> threads, blocks;  // number that failed
  std::vector<std::uint32_t> registers;

  std::optional<PcWitness> witness;  // where `place` comes from
  CodePlace place;
  std::optional<FunctionCode> code;   // nullopt if the instruction or the code is unknown
  std::optional<FailingState> state;  // nullopt if the failing instruction is unknown
  std::optional<SourceLine> trap;     // line of the instruction before `place`, if a trap stopped the thread there
  std::optional<CodePlace> stands;    // where the thread stopped after the failure, as debuggers show it
  std::vector<CodePlace> callers;     // callers of the function at `stands`, innermost first; each `pc` is a return
                                      // address

  std::string kernel;
  std::optional<std::uint64_t> grid_id;
  std::optional<Dim3> grid, block_dim;
  std::optional<std::uint32_t> host_thread;  // the thread that launched the kernel
  bool from_kernel = false;                  // another kernel launched the kernel
};

// The threads of a running kernel that are at the same instruction.
struct RunningPlace {
  CodePlace place;
  std::uint64_t threads = 0;
  Dim3 block{}, thread{};  // position of the first of these threads
};

// A kernel that was on the GPU when the dump was requested.
struct RunningKernel {
  std::string kernel;
  std::uint32_t device = 0;
  std::uint64_t grid_id = 0;
  std::optional<Dim3> grid, block_dim;
  std::optional<std::uint32_t> host_thread;
  std::uint64_t blocks = 0, threads = 0;  // number on the GPU
  std::vector<RunningPlace> places;       // most threads first; further places are omitted
};

struct Testimony {
  std::vector<std::string> devices;       // "0: NVIDIA H200, sm_90"
  std::string versions;                   // "driver 580.159, CUDA 13.0"; empty from old drivers
  std::vector<std::uint32_t> failed_sms;  // SMs that report an exception
  std::optional<DumpedFailure> failure;   // nullopt if the dump was requested rather than caused by a failure
  std::vector<RunningKernel> running;     // only for a requested dump
  std::uint64_t damaged = 0;              // how many invalid parts were ignored
};

std::optional<Testimony> examine(Bytes file);

}  // namespace cudadiag::evidence
