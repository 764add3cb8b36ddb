// Stacks whose symbols and lines have been looked up. Recorded stacks consist of session::Raw…Frame instead.
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
  std::uint64_t offset = 0;  // offset of the code in the module
  bool folded = false;       // the linker merged several functions; `function` lists their names
  bool inlined = false;      // an inlined function, known only from debug information
  bool tail_call = false;    // not on the stack because it ended in a tail call; deduced from DWARF
  bool user = false;
};

struct SourceStack {
  std::vector<PythonFrame> python;  // innermost first
  std::vector<NativeFrame> native;  // innermost first, with inlined frames; ends at the first frame of the interpreter
};

enum class Language : std::uint8_t { unknown, python, cplusplus, cuda };

struct Location {
  std::string file, function;
  Language language = Language::unknown;
  std::string source{};                 // text of the line; empty if it was not read
  std::string module{};                 // for native code without line information, its module; otherwise empty
  int line = 0;                         // 0 if unknown
  std::uint64_t offset = 0;             // offset in the module, if the function is unknown too
  std::vector<Location> called_from{};  // if this location has no line: the user's next outer line; at most one
  bool folded = false;                  // see NativeFrame::folded

  // Returns the line to show. If the location has no line, this is the caller's line, and the report says so.
  const Location& nearest() const { return called_from.empty() ? *this : called_from.front(); }
  bool known() const { return nearest().line > 0; }
};

// The true line of an operation is the line of its innermost user frame. If that frame has no line,
// Location::called_from is the user's next outer line. If that frame is native, `caller` is the Python line that called
// native code.
struct TrueLine {
  Location location;
  Location caller;
  bool user = false;       // if false, no frame is in user code, and `location` is the innermost known frame
  bool tail_call = false;  // `location` is from a frame that was not on the stack (NativeFrame::tail_call)
};

}  // namespace cudadiag::symbolize
