// Protects descriptors 0, 1 and 2 if this program was started without them, closes the others, and reads the target's
// standard input again for a rerun.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/files.h"

namespace cudadiag::launch {

// Occupies each closed descriptor among 0, 1 and 2. Otherwise, the next file to be opened would get one of these
// numbers, and could be read or written by mistake. Reading or writing these descriptors still fails. Child processes
// still find them closed.
void occupy_standard_descriptors();

// Closes every descriptor above 2 except those in `kept`. Async-signal-safe.
void close_all_but(std::span<const int> kept);

// Returns true if the descriptor was closed when this program started.
bool was_closed(int descriptor);

// Returns true if the descriptor is the controlling terminal, and no other job or shell is in its foreground.
bool in_foreground(int descriptor);

// Finds out whether a rerun can read the target's standard input again. Consumes no input: the target inherits the same
// descriptor as this program.
class Input {
 public:
  // Inspects descriptor `number`. Call this before the target starts.
  explicit Input(int number = 0);

  // Returns a clause saying why a rerun cannot read the target's input again; empty if it can. Call this only after the
  // target has exited.
  std::string obstacle() const;
  // Returns true if the target read its input, or if the input is a pipe that it may have read. Call this only after
  // the target has exited.
  bool was_read() const;
  // Returns true if every rerun can read the same complete input.
  bool is_lasting() const { return kind_ == Kind::file || copied_.valid(); }
  // Returns a descriptor for a rerun. It reads the same input from the start. If the first run had no input, it reads
  // /dev/null. It is invalid if the input could not be opened or copied again.
  base::FileDescriptor again() const;

 private:
  enum class Kind { none, file, terminal, device, pipe, other };
  bool is_stream() const { return kind_ == Kind::pipe || kind_ == Kind::other; }
  bool has_something() const;
  bool is_at_end() const;
  // Returns true if the pipe or socket held data before the target started, or holds data now.
  bool gave_something() const;

  int number_;
  Kind kind_ = Kind::none;
  off_t offset_ = 0;             // in the file
  time_t last_read_ = 0;         // of the terminal, before the target started; 0 if in the background
  bool had_something_ = false;   // the pipe held data before the target started
  bool had_writer_ = false;      // the pipe had a writer before the target started
  base::FileDescriptor copied_;  // a copy of the pipe's contents, if the pipe had no writer before the target started
};

}  // namespace cudadiag::launch
