// Writes messages to stderr and output to stdout, and knows what the terminals there can show.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/text.h"
#include "session/session.h"

namespace cudadiag::command {

// The exit status if cudadiag itself fails. The same as that of env(1) and nohup(1).
inline constexpr int kOwnFailure = 125;
inline constexpr int kSignalled = 128;  // plus the number of the signal that ended the command, as in shells

void say(const std::string& text);
void say(const base::Error& failure);
// Writes the text to stderr as it is, so it must contain its own newlines.
void write_error_text(const std::string& text);

// Makes the next text begin on a new row, because the program may have left the cursor anywhere, as after a progress
// bar. On a terminal with escape sequences, this writes a full row of spaces, which wraps only if the cursor was not in
// the first column. It erases no text, and reads nothing from the terminal, because input there is for the program.
void begin_on_own_row();

// While an object exists, writes do not wait for a reader: whatever stderr does not accept at once is kept. The
// destructor writes the rest.
class UnhurriedSpeech {
 public:
  UnhurriedSpeech();
  ~UnhurriedSpeech();
  UnhurriedSpeech(const UnhurriedSpeech&) = delete;
  UnhurriedSpeech& operator=(const UnhurriedSpeech&) = delete;

  // Tries to write the text that was kept. Returns false if some of it is left.
  bool go_on();
};

// Prints to stdout. Errors show later, in output_arrived().
void print(std::string_view text);
// Flushes stdout, and returns whether everything was written; if not, prints a message. Call this once, at the very
// end.
bool output_arrived();

// Returns whether TERM says that the terminal understands escape sequences. `file` is 1 or 2.
bool can_be_driven(int file);

// Returns whether this process group may draw on the terminal at `file`: it must be the controlling terminal, and
// neither a shell nor another job may have the foreground.
bool in_foreground(int file);
// Returns how many columns the terminal has now; nullopt if it does not say.
std::optional<int> columns_of(int file);

// Uses colour only on a terminal with escape sequences, unless NO_COLOR is set. Uses the width of any terminal.
report::TextOptions text_options(report::Verbosity verbosity, int file);

}  // namespace cudadiag::command
