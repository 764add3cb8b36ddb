// The messages of the command on stderr, and the form of a report there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/text.h"
#include "session/session.h"

namespace cudadiag::command {

// The status for failures of our own, as env(1), nohup(1) and others have it.
inline constexpr int kOwnFailure = 125;

void say(const std::string& text);
void say(const base::Error& failure);
// Text that is complete with its line ends.
void write_error_text(const std::string& text);

// The next text begins on a new row: the program may have left the cursor anywhere, for example after a progress bar.
// On a terminal that can be driven a full row of blanks wraps there, and only there; nothing is wiped and nothing is
// read from the terminal, whose input is the program's.
void begin_on_own_row();

// While there is one, no write waits for a reader: what stderr does not take at once is kept. Its destructor writes the
// rest.
class UnhurriedSpeech {
 public:
  UnhurriedSpeech();
  ~UnhurriedSpeech();
  UnhurriedSpeech(const UnhurriedSpeech&) = delete;
  UnhurriedSpeech& operator=(const UnhurriedSpeech&) = delete;

  // False: something is kept still.
  bool go_on();
};

// To standard output; errors are remembered for output_arrived().
void print(std::string_view text);
// Whether all that was printed to stdout has been written; says so if it has not. Asked once, at the very end.
bool output_arrived();

// A terminal that knows escape sequences, by what TERM says. `file` is 1 or 2.
bool can_be_driven(int file);

// Whether the terminal at `file` is this process group's to draw on: it is our controlling terminal, and no shell or
// other job has it now.
bool in_foreground(int file);
// Columns of the terminal, asked each time; nothing if it does not say.
std::optional<int> columns_of(int file);

// Colour only on such a terminal, and if NO_COLOR is unset; the width of any terminal.
report::TextOptions text_options(report::Verbosity verbosity, int file);

}  // namespace cudadiag::command
