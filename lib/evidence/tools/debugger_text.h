// Parses the output of NVIDIA's debugger on a core dump (`cuda-gdb --batch`), and compares it with our own reading.
//
// The text is a foreign program's: nothing in it is believed beyond the shapes below, and what does not fit is left
// out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/testimony.h"

namespace cudadiag::evidence {

// "cases.cu:17"; line 0: not known. The debugger prints files with their folders or without.
struct DebuggerLine {
  std::string file;
  std::uint32_t line = 0;
};

struct DebuggerTestimony {
  std::string exception;                      // "Warp Illegal Address"
  std::optional<std::uint64_t> error_pc, pc;  // of the failing instruction; at which the thread stopped
  DebuggerLine error_line, line;              // likewise
  std::string kernel;                         // as the debugger writes it: demangled, with or without parameters
  std::optional<Dim3> grid, block_dim, block, thread;
};

DebuggerTestimony debugger_testimony(std::string_view output);

// The commands after the dump's own whose output debugger_testimony() reads.
inline constexpr const char* kDebuggerCommands[] = {"print/x $errorpc", "print/x $pc", "bt"};

struct Difference {
  std::string field, here, there;
};

struct CrossCheck {
  std::vector<std::string>
      same;  // fields: "exception", "kernel", "grid", "block size", "block", "thread", "line", "PC"
  std::vector<Difference> different;
};

// Field by field; what only one of the two knows is not compared.
CrossCheck cross_check(const DumpedFailure& failure, const DebuggerTestimony& debugger);

// The result of asking the debugger.
struct DebuggerWitness {
  std::string failed;  // why it has nothing to say, as a sentence; empty: see `check`
  CrossCheck check;
};

// `ended`: how the debugger failed, "signal 6"; empty if it ended well.
DebuggerWitness debugger_witness(const std::optional<DumpedFailure>& failure, std::string_view output,
                                 const std::string& ended);

// As sentences: "cuda-gdb agrees: exception, kernel", "cuda-gdb differs: line cases.cu:17, here cases.cu:16".
std::vector<std::string> sentences(const DebuggerWitness& witness);
// In a word or two: "cuda-gdb agrees", "cuda-gdb differs: line".
std::string outcome(const DebuggerWitness& witness);

}  // namespace cudadiag::evidence
