// Turns recorded stacks into source frames: ELF symbols and DWARF for native ones, CPython's line tables for
// Python ones, demangling, and the rule of what the user's own code is. Reads modules from disk, each once;
// one whose build-id is no longer the recorded one gives no lines and a note. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/demangle.h"
#include "session/process_record.h"
#include "session/session.h"
#include "symbolize/source_excerpt.h"
#include "symbolize/source_frame.h"

namespace cudadiag::symbolize {

class Symbolizer {
 public:
  // `session` must outlive the Symbolizer and not change.
  explicit Symbolizer(const session::Session& session);
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // `process` is one of the session's, `site` one of that process's.
  SourceStack stack(const session::Process& process, const session::Site& site);

  // Frames that PyTorch kept when it made a node of its graph.
  SourceStack stack(const session::Process& process, const std::vector<session::DeliveredFrame>& frames) const;

  // `kernel` is the mangled name of the launched kernel ("" if none): nvcc's host stub of a kernel bears the
  // same name and is never the user's line.
  TrueLine true_line(const SourceStack& stack, std::string_view kernel) const;

  // Why a module's functions and lines are not known: "has been built anew since the run". Empty: it can be read, or no
  // stack that was asked for is in it.
  std::string why_unknown(const std::string& module) const;

  // Why a native location has no line, for people: "libfoo.so is no longer there: its functions and lines are not
  // known". Empty: it has one.
  std::string why_no_line(const Location& location) const;

  // The module was built without line information, or this part of it was.
  bool lacks_line_information(const Location& location) const;

  // Modules that changed, lost line information and the like; each once.
  const std::vector<std::string>& notes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cudadiag::symbolize
