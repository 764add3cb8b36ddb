// Stacks in readable form, with symbols and lines looked up. session::Raw…Frame is the recorded form.
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
  std::uint64_t offset = 0;  // of the call in the module, if the function is unknown
  bool folded = false;       // several functions share this address, and `function` names them
  bool inlined = false;      // only the line information shows this frame
  bool tail_call = false;    // not on the stack, because it ended in a jump; every path from the outer frame goes
                             // through it
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
  std::vector<Location> called_from{};  // the user's next outer line, if this location has no line; at most one
  bool folded = false;                  // NativeFrame::folded

  // The line to show. If it is another line than the location's own, the report says so.
  const Location& nearest() const { return called_from.empty() ? *this : called_from.front(); }
  bool known() const { return nearest().line > 0; }
};

// The true line of an operation: the innermost user frame. If that frame has no line, Location::called_from has the
// line that called it, which is not the line of the launch. If that frame is native, `caller` is the Python line that
// called into native code.
struct TrueLine {
  Location location;
  Location caller;
  bool user = false;       // false: no frame is the user's, and `location` is the innermost known one
  bool tail_call = false;  // `location` is from a frame that was not on the stack (NativeFrame::tail_call)
};

}  // namespace cudadiag::symbolize
