// Reads the text that failed assertions, compute-sanitizer and cuda-gdb print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/core_facts.h"

namespace cudadiag::evidence {

// ---- assertions

// An assertion in the source, and the threads that failed it.
struct Assertion {
  std::string condition;  // as the program printed it, with any characters; at most kLongestPart bytes
  std::string file;
  std::uint32_t line = 0;
  std::string function;       // as the compiler writes it: "void scale(int *)", "scale", "operator()"; empty for Triton
  Dim3 block{}, thread{};     // the first thread in the output
  std::uint64_t threads = 0;  // number of distinct threads that printed it
};

// Further assertions are ignored.
inline constexpr std::size_t kMostAssertions = 64;

// Returns each assertion once, in order of first appearance.
std::vector<Assertion> assertions_in(std::string_view output);

// Reads only the first `kept` bytes and the last `kept` bytes. Returns an empty list if `output` is not a regular file.
inline constexpr std::uint64_t kOutputKept = std::uint64_t{4} << 20;
std::vector<Assertion> read_assertions(const std::filesystem::path& output, std::uint64_t kept = kOutputKept);

// ---- compute-sanitizer

struct InvalidAccess {
  struct Nearest {
    std::uint64_t address = 0, bytes = 0;
  };

  std::string space, mode;  // "global", "write"; empty for other kinds of record, such as "Stack overflow"
  std::uint64_t bytes = 0;
  std::string headline;          // first line of the record
  std::string function, kernel;  // as printed: mangled if the tool was asked to keep names mangled
  std::uint64_t offset = 0;      // offset in `function`
  std::string file;
  std::uint32_t line = 0;
  Dim3 thread{}, block{};
  std::optional<std::uint64_t> address;
  std::string problem;  // "out of bounds", "misaligned"
  std::optional<Nearest> nearest;
};

struct SanitizerLog {
  std::vector<InvalidAccess> accesses;  // at most kMostAccesses
  std::optional<std::uint64_t> errors;  // how many errors the tool counted; nullopt if it did not finish
  std::string complaint;                // the tool's first error message about itself: "Error: …"
};

inline constexpr std::size_t kMostAccesses = 256;

SanitizerLog sanitizer_log(std::string_view text);

// Returns "4-byte write at 0x7f0000001010, 16 bytes past the 4,096-byte allocation at 0x7f0000000000".
std::string sentence(const InvalidAccess& access);

// ---- cuda-gdb: what it prints about a GPU core dump, compared with our reading of the dump

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

// ---- small readers, for the readers above

// In bytes. Longer names and sentences are truncated.
inline constexpr std::size_t kLongestPart = 4096;

// Trims blanks, and truncates the text to kLongestPart bytes.
std::string taken_part(std::string_view text);

// Returns false if `text` does not start with `start`.
bool take(std::string_view& text, std::string_view start);
// Takes "0x7f21277a0a70".
std::optional<std::uint64_t> take_address(std::string_view& text);
// Takes "(31,0,0)".
std::optional<Dim3> take_dimensions(std::string_view& text);

}  // namespace cudadiag::evidence
