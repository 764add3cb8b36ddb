// Writes messages to stderr and output to stdout, and finds out what their terminals support.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "report/writers.h"
#include "session/session.h"

namespace cudadiag::command {

// The exit status if cudadiag itself fails, as in env(1) and nohup(1).
inline constexpr int kOwnFailure = 125;
inline constexpr int kSignalled = 128;  // plus the signal number if a signal killed the command, as in shells

// Wraps one line of text, without its line break, at the width of the terminal at `file` (1 or 2). The text begins in
// column `indent`, and so do its further rows.
std::string fitted(const std::string& text, int file, std::size_t indent = 0);

void say(const std::string& text);
void say(const base::Error& failure);

// Returns the value, or throws the error. main() prints it and exits with kOwnFailure. Call this only where nothing has
// to be done before that.
template <typename T>
T taken(base::Result<T> result) {
  if (auto* failure = std::get_if<base::Error>(&result)) throw std::move(*failure);
  return std::get<T>(std::move(result));
}
// Writes the text to stderr unchanged, without adding a newline.
void write_error_text(const std::string& text);

// Makes the next text start on a new row, because the program may have left the cursor in the middle of a row. On a
// terminal with escape sequences, first writes a row of spaces, which wraps only if the cursor was not in the first
// column. Erases no text. Does not query the terminal, because the answer would mix with the program's input.
void begin_on_own_row();

// While an object of this class exists, writes to stderr never block. Text that stderr does not accept at once is kept,
// and the destructor writes it.
class UnhurriedSpeech {
 public:
  UnhurriedSpeech();
  ~UnhurriedSpeech();
  UnhurriedSpeech(const UnhurriedSpeech&) = delete;
  UnhurriedSpeech& operator=(const UnhurriedSpeech&) = delete;

  // Tries again to write the kept text. Returns true once all of it is written.
  bool go_on();
};

// Prints to stdout. output_arrived() reports errors.
void print(std::string_view text);
// Flushes stdout and returns true if all output was written. Otherwise prints a message. Call this once, just before
// exiting.
bool output_arrived();

// Returns true if `file` (1 or 2) is a terminal that understands escape sequences according to TERM.
bool can_be_driven(int file);

// Returns the current number of columns; nullopt if the terminal does not report it.
std::optional<int> columns_of(int file);

// `automatic`: colour only if the terminal supports escape sequences and NO_COLOR is unset.
enum class Colour { automatic, always, never };
inline Colour colour_choice = Colour::automatic;  // the option --color

// Chooses whether to use colour, and uses the width of the terminal. `file` is -1 for text that goes to no descriptor.
report::TextOptions text_options(report::Verbosity verbosity, int file);

}  // namespace cudadiag::command
