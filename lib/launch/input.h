// Inspects the target's standard input, to find out whether a rerun can read it again. Consumes nothing: the target
// receives the same descriptor as this program.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/file_descriptor.h"

namespace cudadiag::launch {

class Input {
 public:
  // Inspects descriptor `number` before the target starts.
  explicit Input(int number = 0);

  // Returns a clause that says why a rerun cannot read the target's input again; empty if it can. Call this only after
  // the target has ended.
  std::string obstacle() const;
  // Whether the target read its input. Also true if the input is a pipe that the target may have read. Call this only
  // after the target has ended.
  bool was_read() const;
  // Whether every rerun can read the same complete input.
  bool is_lasting() const { return kind_ == Kind::file || copied_.valid(); }
  // Returns the input for a rerun, from its start. Invalid if /dev/null was needed and could not be opened.
  base::FileDescriptor again() const;

 private:
  enum class Kind { none, file, terminal, device, pipe, other };
  bool is_stream() const { return kind_ == Kind::pipe || kind_ == Kind::other; }
  void copy_pipe();
  bool has_something() const;
  bool is_at_end() const;
  // Whether the pipe or socket held data before the target started, or holds data now.
  bool gave_something() const;

  int number_;
  Kind kind_ = Kind::none;
  off_t offset_ = 0;
  bool had_something_ = false;   // whether a pipe had contents before the target started
  bool had_writer_ = false;      // whether a pipe had a writer before the target started
  base::FileDescriptor copied_;  // a copy of the pipe's contents, if no writer was left before the target started
};

}  // namespace cudadiag::launch
