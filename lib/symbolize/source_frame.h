// Stacks in readable form, after symbols and line tables. session::Raw…Frame contains what was recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudadiag::symbolize {

struct PythonFrame {
  std::string file;      // absolute if possible; "<string>", "<stdin>", "<ipython-input-…>" as Python names them
  int line = 0;          // 0 if unknown
  std::string function;  // qualified name
  bool user = false;
};

struct NativeFrame {
  std::string module;    // path of the executable or library; empty if unknown
  std::string function;  // demangled; empty if unknown
  std::string mangled;   // linkage name, for comparison with a kernel's name
  std::string file;      // empty without line information
  int line = 0;
  std::uint64_t offset = 0;  // of the call in the module, if its functions are unknown
  bool folded = false;       // several functions share this address, and `function` names them
  bool inlined = false;      // this frame exists only in the line information
  bool tail_call = false;    // not on the stack: it ended in a jump, and is on the only path from the outer frame
  bool user = false;
};

struct SourceStack {
  std::vector<PythonFrame> python;  // innermost first
  std::vector<NativeFrame> native;  // innermost first, with inlined frames; ends where the interpreter begins
};

enum class Language : std::uint8_t { unknown, python, cplusplus, cuda };

struct Location {
  std::string file, function;
  Language language = Language::unknown;
  std::string source{};                 // text of the line; empty if it was not read
  std::string module{};                 // for native code without line information, its module; otherwise empty
  int line = 0;                         // 0 if unknown
  std::uint64_t offset = 0;             // in the module, if the function is unknown too
  std::vector<Location> called_from{};  // the user's next outer line, if this one is unknown; at most one
  bool folded = false;                  // NativeFrame::folded

  // The line to show. If it is not the location's own line, the report says so.
  const Location& nearest() const { return called_from.empty() ? *this : called_from.front(); }
  bool known() const { return nearest().line > 0; }
};

// The true line of an operation: the innermost user frame. That frame may have no line. Location::called_from then has
// the line from which it was called, which is not the launch's line. If the innermost user frame is native, `caller` is
// the Python line that called into it.
struct TrueLine {
  Location location;
  Location caller;
  bool user = false;       // false: no frame is the user's, and `location` is the innermost known one
  bool tail_call = false;  // `location` is from a frame that was not on the stack (NativeFrame::tail_call)
};

}  // namespace cudadiag::symbolize
