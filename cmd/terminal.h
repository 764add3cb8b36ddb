// Writes messages to stderr and output to stdout, finds out what their terminals support, and shows the progress of a
// rerun.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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

// Returns text such as "7 s", "62 s" or "3 min". Rounds up, because the times are estimates. Shows no tenths, which
// would flicker.
std::string whole_seconds(double seconds);

struct ProgressState {
  std::string doing;              // such as "confirming"
  double seconds = 0;             // since the start of the rerun
  std::optional<double> share{};  // the share of the work that is done, from 0 to 1
  double expected_seconds = 0;    // for the whole rerun, estimated from the first run; 0 if unknown
  double idle_seconds = 0;        // since the share last grew
};

// Returns text that fits in `columns` columns. Omits the least important words first.
std::string progress_line(const ProgressState& state, std::size_t columns);

// Adds up the time between ticks. Counts a gap of more than a second as one second, because this process was probably
// stopped.
class TickedTime {
 public:
  using Clock = std::chrono::steady_clock;
  explicit TickedTime(Clock::time_point now) : last_(now) {}
  double tick(Clock::time_point now);  // returns seconds

 private:
  Clock::time_point last_;
  double seconds_ = 0;
};

// Shows the progress of a rerun on one row of the terminal, and erases that row at the end. Draws only while this
// process group is in the foreground. After Ctrl-Z and bg, the row belongs to the shell.
class Progress {
 public:
  // `operations` is the number of operations that the first run issued; 0 if unknown.
  Progress(std::string doing, std::uint64_t operations, double expected_seconds);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows these words from now on, with the time since the first of them, because nobody can estimate how long it
  // takes.
  void now_waits_for(std::string what);
  // Call this several times a second.
  void show(std::uint64_t done);

 private:
  bool may_paint() const;

  ProgressState state_;
  std::uint64_t operations_;
  TickedTime time_;
  bool terminal_;
  bool shown_ = false, waits_ = false;
};

}  // namespace cudadiag::command
