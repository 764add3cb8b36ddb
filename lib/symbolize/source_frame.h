// Stacks as a person reads them. Names carry the stage: session::Raw…Frame is what was recorded, SourceFrame
// is what symbols and line tables make of it.
#pragma once

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
  std::string function;  // demangled; "module+0x1234" is not invented here, empty means not known
  std::string mangled;   // linkage name, for comparison with a kernel's name
  std::string file;      // empty: no line information
  int line = 0;
  bool inlined = false;    // this frame exists in the line information only
  bool tail_call = false;  // not on the stack: it ended in a jump, and the only way from the outer frame leads by it
  bool user = false;
};

struct SourceStack {
  std::vector<PythonFrame> python;  // innermost first
  std::vector<NativeFrame> native;  // innermost first, inlined frames expanded; ends where the interpreter begins
};

struct Location {
  std::string file;
  int line = 0;  // 0: not known
  std::string function;
  std::string language;  // "python", "c++"
  std::string module;    // native without line information: where the address lies; else empty
  bool known() const { return line > 0; }
};

// The true line of an operation: the innermost user frame. `caller` is the Python line that called into it when
// the innermost user frame is native.
struct TrueLine {
  Location location;
  Location caller;
  bool user = false;       // false: no frame is the user's, `location` is the innermost that is known at all
  bool tail_call = false;  // `location` is of a frame that was not on the stack (NativeFrame::tail_call)
};

}  // namespace cudadiag::symbolize
