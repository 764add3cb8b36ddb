// Reads the text that cuda-gdb prints about a GPU core dump, and compares it with our reading of the dump.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/core_facts.h"

namespace cudadiag::evidence {

// For example "cases.cu:17". The line is 0 if unknown. The debugger prints files with or without their folder.
struct DebuggerLine {
  std::string file;
  std::uint32_t line = 0;
};

struct DebuggerFacts {
  std::string exception;                      // "Warp Illegal Address"
  std::optional<std::uint64_t> error_pc, pc;  // PCs of the failing instruction, and of the one where the thread stopped
  DebuggerLine error_line, line;              // lines of the same two instructions
  std::string kernel;                         // as the debugger writes it: demangled, with or without parameters
  std::optional<Dim3> grid, block_dim, block, thread;
};

DebuggerFacts debugger_facts(std::string_view output);

// The commands whose output debugger_facts() reads. Run them after the command that opens the dump.
inline constexpr const char* kDebuggerCommands[] = {"print/x $errorpc", "print/x $pc", "bt"};

struct Difference {
  std::string field, here, there;
};

struct CrossCheck {
  std::vector<std::string>
      same;  // fields: "exception", "kernel", "grid", "block size", "block", "thread", "line", "PC"
  std::vector<Difference> different;
};

// Compares each field that is known from both the dump and the debugger.
CrossCheck cross_check(const DumpedFailure& failure, const DebuggerFacts& debugger);

// The result of running the debugger.
struct DebuggerCheck {
  std::string failed;  // why the debugger gave no answer, as a sentence; if empty, see `check`
  CrossCheck check;
};

// `ended` describes how the debugger failed, such as "signal 6". It is empty if the debugger succeeded.
DebuggerCheck debugger_check(const std::optional<DumpedFailure>& failure, std::string_view output,
                             const std::string& ended);

// Returns sentences such as "cuda-gdb agrees: exception, kernel" or "cuda-gdb differs: line cases.cu:17 instead of
// cases.cu:16".
std::vector<std::string> sentences(const DebuggerCheck& witness);
// Returns a few words, such as "cuda-gdb agrees" or "cuda-gdb differs: line".
std::string outcome(const DebuggerCheck& witness);

}  // namespace cudadiag::evidence
