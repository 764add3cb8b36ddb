// Messages on stderr, output on stdout, and what the terminals there can show.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/text.h"
#include "session/session.h"

namespace cudadiag::command {

// The exit status if cudadiag itself fails, as in env(1) and nohup(1).
inline constexpr int kOwnFailure = 125;
inline constexpr int kSignalled = 128;  // plus the number of the signal that ended the command, as in shells

void say(const std::string& text);
void say(const base::Error& failure);
// Writes the text to stderr as it is. It contains its own newlines.
void write_error_text(const std::string& text);

// Makes the next text begin on a new row, because the program may have left the cursor anywhere, for example after a
// progress bar. On a terminal with escape sequences, this writes a full row of blanks, which wraps only if the cursor
// was not in the first column. It erases no text, and reads nothing from the terminal, whose input belongs to the
// program.
void begin_on_own_row();

// While an object exists, no write waits for a reader: text that stderr does not accept at once is kept. The destructor
// writes the rest.
class UnhurriedSpeech {
 public:
  UnhurriedSpeech();
  ~UnhurriedSpeech();
  UnhurriedSpeech(const UnhurriedSpeech&) = delete;
  UnhurriedSpeech& operator=(const UnhurriedSpeech&) = delete;

  // Tries to write the kept text. Returns false if some of it is left.
  bool go_on();
};

// Prints to standard output. output_arrived() reports errors.
void print(std::string_view text);
// Flushes stdout, and returns whether everything was written. Prints a message if not. Call this once, at the very end.
bool output_arrived();

// Whether TERM says that the terminal supports escape sequences. `file` is 1 or 2.
bool can_be_driven(int file);

// Whether this process group may draw on the terminal at `file`: it is the controlling terminal, and no shell or other
// job has the foreground now.
bool in_foreground(int file);
// The current number of columns of the terminal; nullopt if it does not report one.
std::optional<int> columns_of(int file);

// Enables colour only on a terminal with escape sequences, and if NO_COLOR is unset. Uses the width of any terminal.
report::TextOptions text_options(report::Verbosity verbosity, int file);

}  // namespace cudadiag::command
