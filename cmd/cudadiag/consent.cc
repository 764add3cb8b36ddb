#include "consent.h"

#include <fmt/core.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "terminal.h"

namespace cudadiag::command {
namespace {

using Clock = std::chrono::steady_clock;

// The interval at which to check for signals and for a change of the foreground job.
constexpr int kKeyMilliseconds = 100;
constexpr const char* kChoices = " [y/N]";

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0 && std::strcmp(value, "false") != 0;
}

bool runs_in_ci() {
  constexpr const char* kVariables[] = {"CI",
                                        "CONTINUOUS_INTEGRATION",
                                        "BUILD_ID",
                                        "BUILD_NUMBER",
                                        "BUILDKITE",
                                        "CIRCLECI",
                                        "GITHUB_ACTIONS",
                                        "GITLAB_CI",
                                        "JENKINS_URL",
                                        "TEAMCITY_VERSION",
                                        "TF_BUILD",
                                        "TRAVIS"};
  return std::ranges::any_of(kVariables, is_set);
}

bool reads_lines(int file) {
  termios settings{};
  return ::tcgetattr(file, &settings) == 0 && (settings.c_lflag & ICANON) != 0;
}

// Returns true if another job has the foreground. If `file` is not the controlling terminal, tcgetpgrp() fails, and the
// result is false.
bool lost_foreground(int file) {
  const pid_t owner = ::tcgetpgrp(file);
  return owner >= 0 && owner != ::getpgrp();
}

bool agrees(std::string answer) {
  std::erase_if(answer, [](unsigned char c) { return std::isspace(c) != 0; });
  std::transform(answer.begin(), answer.end(), answer.begin(), [](unsigned char c) { return std::tolower(c); });
  return answer == "y" || answer == "yes";
}

std::string about(double seconds) { return seconds < 1 ? "under a second" : "about " + whole_seconds(seconds); }

std::string runs_text(const RerunOutlook& outlook) {
  const std::string limits = outlook.limits.empty() ? "" : "; " + outlook.limits;
  const std::string more = outlook.or_one_more ? fmt::format(" or {}", outlook.runs + 1) : "";
  const bool one = outlook.runs == 1 && more.empty();
  return fmt::format("{}{} {}, {}{}{}", outlook.runs, more, one ? "run" : "runs", about(outlook.seconds),
                     one ? "" : " each", limits);
}

// Asks one question and waits for the answer.
class Asking {
 public:
  Asking(const std::string& question, int input, launch::SignalRelay& relay, const AskingTimes& times)
      : text_(fitted("cudadiag: " + question + kChoices, STDERR_FILENO) + ' '),
        input_(input),
        relay_(relay),
        times_(times),
        time_(Clock::now()) {}

  bool agreed() {
    ::tcflush(input_, TCIFLUSH);
    heeded_ = times_.deaf.count() == 0;
    write_error_text(text_);
    bool timed_out = false;
    while (true) {
      const Clock::time_point before = Clock::now();
      pollfd terminal{input_, static_cast<short>(heeded_ ? POLLIN : 0), 0};
      const int ready = ::poll(&terminal, 1, kKeyMilliseconds);
      relay_.take_signals();
      if (ready > 0 && (terminal.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) break;
      if (relay_.interrupted() || lost_foreground(input_)) break;
      const double seconds = time_.tick(Clock::now());
      if (!heeded_ && seconds * 1000 >= static_cast<double>(times_.deaf.count())) start_heeding();
      if (seconds * 1000 >= static_cast<double>(times_.patience.count())) {
        timed_out = true;
        break;
      }
      // Prints the question again after Ctrl-Z and fg, because it may have scrolled away.
      if (Clock::now() - before > std::chrono::seconds(1)) write_error_text(text_);
      if (!heeded_ || ready <= 0) continue;
      if (const auto answer = read_line()) return agrees(*answer);
    }
    // Discards a half-typed line, which the shell would otherwise read.
    if (!lost_foreground(input_)) ::tcflush(input_, TCIFLUSH);
    write_error_text(timed_out ? "no answer\n" : "\n");
    return false;
  }

 private:
  // Nobody can have read the question before an earlier line, so that line is not an answer. Asks again. A line that was
  // begun earlier but is ended later counts.
  void start_heeding() {
    heeded_ = true;
    pollfd early{input_, POLLIN, 0};
    if (::poll(&early, 1, 0) <= 0 || (early.revents & POLLIN) == 0) return;
    ::tcflush(input_, TCIFLUSH);
    say("this answer came before the question could be read; please answer again");
    write_error_text(text_);
  }

  // Returns nullopt if no complete line has been typed yet.
  std::optional<std::string> read_line() {
    std::array<char, 256> text{};
    const ssize_t length = ::read(input_, text.data(), text.size());
    if (length < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
    if (length <= 0) write_error_text("\n");
    return length <= 0 ? "" : std::string(text.data(), static_cast<std::size_t>(length));
  }

  std::string text_;
  int input_;
  launch::SignalRelay& relay_;
  AskingTimes times_;
  TickedTime time_;
  bool heeded_ = false;
};

}  // namespace

TerminalState terminal_state() {
  TerminalState state;
  state.input_is_terminal = ::isatty(STDIN_FILENO) != 0;
  state.errors_are_terminal = ::isatty(STDERR_FILENO) != 0;
  state.in_foreground = in_foreground(STDIN_FILENO) && in_foreground(STDERR_FILENO);
  state.lines_are_read = reads_lines(STDIN_FILENO);
  state.dumb = !can_be_driven(STDERR_FILENO);
  state.in_ci = runs_in_ci();
  return state;
}

std::optional<std::string> obstacle_to_asking(const TerminalState& state, bool quiet) {
  if (!state.input_is_terminal || !state.errors_are_terminal)
    return "no one can answer the question without a terminal";
  if (state.in_ci) return "this is a CI job, where no one can answer the question";
  if (quiet) return "-q suppresses the question";
  if (!state.in_foreground) return "this job is in the background, where no one can answer the question";
  if (state.dumb) return "this terminal cannot show a question";
  if (!state.lines_are_read) return "the program left the terminal in raw mode";
  return std::nullopt;
}

std::string question(const RerunOutlook& outlook) {
  const std::string warning = outlook.warning.empty() ? "" : " But " + outlook.warning + ".";
  return fmt::format("Run it again {}? Usually {}.{}", outlook.purpose, runs_text(outlook), warning);
}

std::string announcement(const RerunOutlook& outlook) {
  return fmt::format("running the command again {}: usually {} (turn off: --rerun=never)", outlook.purpose,
                     runs_text(outlook));
}

bool ask(const std::string& question, int input, launch::SignalRelay& relay, const AskingTimes& times) {
  return Asking(question, input, relay, times).agreed();
}

}  // namespace cudadiag::command
