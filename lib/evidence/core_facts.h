// The facts about a failure in a GPU core dump, as plain data. Facts that the hardware did not keep are marked as
// unknown. Function names are mangled.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "evidence/core_tables.h"
#include "evidence/device_code.h"

namespace cudadiag::evidence {

inline constexpr std::uint32_t kAssertion = 12;

// "Warp Illegal Address" for 14, and "exception 99" for an unknown code.
std::string exception_name(std::uint32_t code);

struct FailingLane {
  std::uint32_t lane = 0;
  Dim3 thread{};
  std::optional<std::uint64_t> stands;  // offset of the thread's next instruction in the failing function
  std::vector<std::uint32_t> registers;
  std::optional<std::uint32_t> predicates;  // one bit per predicate, set if it is true
};

struct FailingWarp {
  Dim3 block{};
  bool together = false;           // all threads of the warp are at one instruction
  std::uint32_t shared_bytes = 0;  // shared memory of the block, including what the system reserves; 0 if unknown
  std::vector<std::uint32_t> uniform_registers;
  std::optional<std::uint32_t> uniform_predicates;
  std::vector<FailingLane> lanes;
};

// The registers of all threads that may have failed, for computing the address of the failed access. The GPU saved the
// registers when it stopped, some instructions after the failing one.
struct FailingState {
  // Threads beyond this limit are only counted, in `left_out`.
  static constexpr std::size_t kMostLanes = 4096;

  KernelFacts facts;
  std::string parameters;  // the bytes of the parameters; empty if unknown
  std::vector<Variable> variables;
  std::string variable_addresses;  // as the code uses them: constant bank 4; empty if unknown
  std::uint64_t shared_window = 0, local_window = 0;
  bool clusters = false;           // the launch groups blocks into clusters
  std::vector<FailingWarp> warps;  // sorted by block and thread; empty if the warps have exited
  std::uint64_t left_out = 0;
};

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

// A kernel that was on the GPU.
struct DumpedKernel {
  std::string kernel;
  std::optional<std::uint64_t> grid_id;
  std::optional<Dim3> grid, block_dim;
  std::optional<std::uint32_t> host_thread;  // the thread that launched the kernel
};

struct DumpedFailure : DumpedKernel {
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

  bool from_kernel = false;  // another kernel launched the kernel
};

// The threads of a running kernel that are at the same instruction.
struct RunningPlace {
  CodePlace place;
  std::uint64_t threads = 0;
  Dim3 block{}, thread{};  // position of the first of these threads
};

// A kernel that was on the GPU when the dump was requested.
struct RunningKernel : DumpedKernel {
  std::uint32_t device = 0;
  std::uint64_t blocks = 0, threads = 0;  // number on the GPU
  std::vector<RunningPlace> places;       // most threads first; further places are omitted
};

struct CoreFacts {
  std::vector<std::string> devices;       // "0: NVIDIA H200, sm_90"
  std::string versions;                   // "driver 580.159, CUDA 13.0"; empty from old drivers
  std::vector<std::uint32_t> failed_sms;  // SMs that report an exception
  std::optional<DumpedFailure> failure;   // nullopt if the dump was requested rather than caused by a failure
  std::vector<RunningKernel> running;     // only for a requested dump
  std::uint64_t damaged = 0;              // how many invalid parts were ignored
};

std::optional<CoreFacts> examine(Bytes file);

inline constexpr std::size_t kMostKernels = 1024;  // more than eight GPUs can run at once

// Finds at most kMostKernels kernels with blocks on the GPU, most threads first. A grid without blocks on the GPU has
// not started or is finishing, and is omitted.
std::vector<RunningKernel> running_kernels(const Dump& dump, const DeviceCode& code);

// ---- core_file.cc: a dump on disk, which is mapped into memory, and unpacked first if it is compressed

struct Unreadable {
  std::string what;  // one sentence, which begins with the file's path
  std::string hint;  // what the user can do; may be empty
};

// Larger dumps are rejected, because a compressed dump is unpacked into memory.
inline constexpr std::uint64_t kLargestUnpacked = std::uint64_t{1} << 30;

// Returns whether the file begins like a gzip archive, in which the driver may write a dump.
bool is_gzip(int file);

std::variant<CoreFacts, Unreadable> read_core(const std::filesystem::path& path,
                                              std::uint64_t largest_unpacked = kLargestUnpacked);

}  // namespace cudadiag::evidence
