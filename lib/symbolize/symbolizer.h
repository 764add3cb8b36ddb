// Turns recorded stacks into source frames: ELF symbols and DWARF for native ones, CPython's line tables for
// Python ones, demangling, and the rule of what the user's own code is. Reads modules from disk, each once;
// one whose build-id is no longer the recorded one gives no lines and a note. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "session/process_record.h"
#include "session/session.h"
#include "symbolize/source_frame.h"

namespace cudadiag::symbolize {

// `fill(int*, int)` for `_Z4fillPii`; the name itself where it is not mangled.
std::string demangle(std::string_view mangled);

// The line of the instruction at byte `offset` of `code`'s bytecode; 0 where the table has none.
// Formats: CPython 3.9 (lnotab), 3.10 (PEP 626), 3.11 and later (PEP 657).
int python_line(const session::Code& code, std::uint32_t offset);

class Symbolizer {
 public:
  explicit Symbolizer(const session::Session& session);
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // `kernel` is the mangled name of the launched kernel ("" if none): nvcc's host stub of a kernel bears the
  // same name and is never the user's line.
  SourceStack stack(const session::Process& process, const session::Site& site);
  TrueLine true_line(const SourceStack& stack, std::string_view kernel) const;

  // Modules that changed, lost line information and the like; each once.
  const std::vector<std::string>& notes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Lines around `line` of `file` as they are on disk now: {number, text}; empty if it cannot be read.
struct SourceLine {
  int number;
  std::string text;  // control characters made harmless, tabs expanded, at most 200 bytes
};
std::vector<SourceLine> source_excerpt(const std::string& file, int line, int neighbours);

}  // namespace cudadiag::symbolize
