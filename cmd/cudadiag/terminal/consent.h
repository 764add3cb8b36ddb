// Asks the person at the terminal, once, whether the command may run again.
//
// Never changes the terminal's settings. An answer is a whole line, so there is nothing to restore at exit, even after
// kill -9. Text that was typed before the question, or within half a second after it, is not an answer.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "launch/process.h"

namespace cudadiag::command {

// The facts that decide whether a person can see and answer a question.
struct TerminalState {
  bool input_is_terminal = false, errors_are_terminal = false;
  bool in_foreground = false;   // on both standard input and standard error
  bool lines_are_read = false;  // false if a program has left the terminal in raw mode
  bool dumb = false;            // according to TERM
  bool in_ci = false;           // according to CI or the variables of common services
};

TerminalState terminal_state();

// Returns why cudadiag cannot ask, as the end of "not run again, because …"; nullopt if it can.
std::optional<std::string> obstacle_to_asking(const TerminalState& state, bool quiet);

// How many times the command would run, how long that would take, and what the reruns can or cannot do.
struct RerunOutlook {
  unsigned runs = 0;
  double seconds = 0;   // of each run
  std::string purpose;  // "to prove this", "to find out more"
  std::string limits;   // "it cannot write files"; empty if there are none
};

// Returns "Run it again to prove this? Usually 2 runs, about 6 s each; it cannot write files."
std::string question(const RerunOutlook& outlook);
// Returns "running the command again to prove this: usually 2 runs, about 6 s each; it cannot write files (turn off:
// --rerun=never)".
std::string announcement(const RerunOutlook& outlook);

struct AskingTimes {
  std::chrono::milliseconds deaf{500};  // ignore text that is typed this early
  std::chrono::milliseconds patience{20'000};
};

// Asks on standard error, and reads from `input`. Returns true only for the line "y" or "yes". Returns false at the end
// of input, at a signal that asks this program to end, after `patience` without an answer, or in the background.
bool ask(const std::string& question, int input, launch::SignalRelay& relay, const AskingTimes& times = {});

}  // namespace cudadiag::command
