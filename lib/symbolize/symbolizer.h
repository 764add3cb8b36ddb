// Turns recorded stacks into source frames. Uses ELF symbols and DWARF for native frames, and CPython's line tables for
// Python frames. Marks frames in user code. Reads each module from disk once. If a module's build-id differs from the
// recorded one, adds a note and returns no lines. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "session/process_record.h"
#include "session/session.h"
#include "symbolize/source_file.h"
#include "symbolize/source_stack.h"

namespace cudadiag::symbolize {

class Symbolizer {
 public:
  // `session` must outlive the Symbolizer and not change.
  explicit Symbolizer(const session::Session& session);
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // `process` must belong to the session, and `site` to `process`.
  SourceStack stack(const session::Process& process, const session::Site& site);

  // Returns the name of a variable on the native stack of `site`, which is in the frame with this 1-based number, at
  // this distance below the frame's end (DWARF's CFA). Empty if it is unknown.
  std::string variable(const session::Process& process, std::uint32_t site, std::uint32_t frame, std::uint64_t below);

  // Returns the stack that PyTorch stored when it created an autograd node.
  SourceStack stack(const session::Process& process, const std::vector<session::DeliveredFrame>& frames) const;

  // `kernel` is the mangled name of the launched kernel, or empty. nvcc's host stub has the same name, and is never the
  // true line.
  TrueLine true_line(const SourceStack& stack, std::string_view kernel) const;

  // Returns why a module's functions and lines are unknown, such as "has been rebuilt since the run". Empty if the
  // module is readable, or if no stack requested so far contains it.
  std::string why_unknown(const std::string& module) const;

  // Returns why a native location has no line, as text for users: "libfoo.so has been removed since the run: its
  // functions and lines are unknown".
  std::string why_no_line(const Location& location) const;

  bool lacks_line_information(const Location& location) const;

  // Notes for the user, such as that a module changed or has no line information. Each note appears once.
  const std::vector<std::string>& notes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// ---- python_line_table.cc

// Maps a place in a code object's bytecode to the source line that a traceback would show for it.
//
// `offset` is in bytes from the start of the bytecode. It comes from a different field in each release:
//    3.9   f_lasti: the instruction being executed.
//    3.10 f_lasti counts two-byte units; offset is twice that.
//    3.11, 3.12 prev_instr - code: the instruction being executed; during a call of a Python function,
//          the last inline cache of the call instruction. The table's entries cover the caches too.
//    3.13, 3.14 instr_ptr - code: the instruction being executed, also during a call of a Python function.
// In 3.12 and earlier, the offset is negative in a frame that has not started. CPython then reports the code object's
// first line.
//
// Returns 0 if the table has no line for `offset`: the compiler added the instruction, the table is damaged, or
// `offset` is past the end.
int python_line(const session::Code& code, std::uint32_t offset);

}  // namespace cudadiag::symbolize
