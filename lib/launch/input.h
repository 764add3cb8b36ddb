// The target's standard input, and whether a rerun can read it again. It is only inspected: nothing is read that the
// target might want, and the target gets the same descriptor that this program got.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/file_descriptor.h"

namespace cudadiag::launch {

class Input {
 public:
  // Looks at descriptor `number` before the target starts.
  explicit Input(int number = 0);

  // Why a rerun cannot have the target's input; empty if it can. Asked after the target has ended.
  std::string obstacle() const;
  // Whether the target took from it, asked after its end; it may have, from a pipe that cannot be read again.
  bool was_read() const;
  // Whether every rerun reads the same from it, in full.
  bool is_lasting() const { return kind_ == Kind::file || copied_.valid(); }
  // For the rerun: from the start, if there is anything. Not valid: /dev/null could not be opened either.
  base::FileDescriptor again() const;

 private:
  enum class Kind { none, file, terminal, device, pipe, other };
  bool is_stream() const { return kind_ == Kind::pipe || kind_ == Kind::other; }
  void copy_pipe();
  bool has_something() const;
  bool is_at_end() const;
  // As far as could be seen.
  bool gave_something() const;

  int number_;
  Kind kind_ = Kind::none;
  off_t offset_ = 0;
  bool had_something_ = false;   // of a pipe: before the target started
  bool had_writer_ = false;      // likewise
  base::FileDescriptor copied_;  // of a pipe whose writer had closed it: all that was in it
};

}  // namespace cudadiag::launch
