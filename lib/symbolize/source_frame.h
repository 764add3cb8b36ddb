// Stacks as a person reads them. Names carry the stage: session::Raw…Frame is what was recorded, SourceFrame
// is what symbols and line tables make of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudadiag::symbolize {

struct PythonFrame {
  std::string file;  // absolute where it could be made so; "<string>", "<stdin>", "<ipython-input-…>" as Python has it
  int line = 0;      // 0: not known
  std::string function;  // qualified name
  bool user = false;
};

struct NativeFrame {
  std::string module;    // path of the executable or library; empty: not known
  std::string function;  // demangled; empty: not known
  std::string mangled;   // linkage name, for comparison with a kernel's name
  std::string file;      // empty: no line information
  int line = 0;
  std::uint64_t offset = 0;  // in the module, where its functions are not known: of the call
  bool folded = false;       // several functions lie there, and `function` names them
  bool inlined = false;      // this frame exists in the line information only
  bool tail_call = false;    // not on the stack: it ended in a jump, and the only way from the outer frame leads by it
  bool user = false;
};

struct SourceStack {
  std::vector<PythonFrame> python;  // innermost first
  std::vector<NativeFrame> native;  // innermost first, inlined frames expanded; ends where the interpreter begins
};

enum class Language : std::uint8_t { unknown, python, cplusplus, cuda };

struct Location {
  std::string file, function;
  Language language = Language::unknown;
  std::string source{};                 // text of the line; empty: it was not read
  std::string module{};                 // native without line information: where the address lies; else empty
  int line = 0;                         // 0: not known
  std::uint64_t offset = 0;             // in the module, where its function is not known either
  std::vector<Location> called_from{};  // the user's next outer line, where this has none; one at most
  bool folded = false;                  // NativeFrame::folded

  // The line to show. If it is not the location's own, the report says so.
  const Location& nearest() const { return called_from.empty() ? *this : called_from.front(); }
  bool known() const { return nearest().line > 0; }
};

// The true line of an operation: the innermost user frame. One without a line leads nevertheless, with the line that it
// was called from: that one is not the launch's. `caller` is the Python line that called into it when the innermost
// user frame is native.
struct TrueLine {
  Location location;
  Location caller;
  bool user = false;       // false: no frame is the user's, `location` is the innermost that is known at all
  bool tail_call = false;  // `location` is of a frame that was not on the stack (NativeFrame::tail_call)
};

}  // namespace cudadiag::symbolize
