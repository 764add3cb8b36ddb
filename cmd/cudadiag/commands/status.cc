// `cudadiag status`: shows what a run is waiting for now or, with --follow, what it is doing, updated every second.
#include "diagnose/status.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "base/printable.h"
#include "commands/commands.h"
#include "diagnose/session_state.h"
#include "diagnose/words.h"
#include "options/command_line.h"
#include "options/shared_options.h"
#include "report/status/activity.h"
#include "report/status/status_text.h"
#include "session/notes/unrecorded.h"
#include "session/ownership.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "sessions/session_choice.h"
#include "symbolize/source_excerpt.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

struct StatusOptions {
  std::string session;
  std::optional<std::filesystem::path> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  bool json = false;
  bool follow = false;
  std::optional<unsigned> count;  // with `follow`: the number of displays to print; nullopt: until the run ends
};

int carry_out(const StatusOptions& options) {
  auto opened = choose_run(options.output, options.session);
  if (const auto* failure = std::get_if<base::Error>(&opened)) return say(*failure), kOwnFailure;
  auto& run = std::get<supervise::LiveRun>(opened);
  const auto read = run.read();
  if (const auto* failure = std::get_if<base::Error>(&read)) return say(*failure), kOwnFailure;
  const auto& session = std::get<session::Session>(read);
  if (session.processes.empty() && session::is_unused(session.folder)) {
    return say(session::finished_name(session.folder).string() + ": " + session::why_unused(session.folder)),
           kOwnFailure;
  }
  const symbolize::WithheldSources withheld(!session::why_foreign(session).empty());
  diagnose::SessionState state(session);
  const bool is_over = !run.goes_on().value_or(true);
  const analyse::Analysis none;
  const diagnose::Status status =
      diagnose::build_status(session, is_over ? state.analysis() : none, run.goes_on(), state.symbolizer());
  report::TextOptions shown = text_options(options.verbosity, STDOUT_FILENO);
  // Does not wrap lines that are written to a pipe.
  if (::isatty(STDOUT_FILENO) == 0) shown.columns = std::numeric_limits<int>::max();
  const std::string text = options.json ? report::write_status_json(status) : report::write_status_text(status, shown);
  print(text);
  return 0;
}

constexpr long kBetweenLooks = 1;  // seconds

volatile sig_atomic_t ended_by = 0;

extern "C" void on_end(int signal) { ended_by = signal; }

// Takes over the terminal's screen at the first display. The destructor restores the previous contents.
class Screen {
 public:
  Screen() : terminal_(can_be_driven(STDOUT_FILENO)) {
    struct sigaction action {};
    action.sa_handler = on_end;  // without SA_RESTART, so that blocking calls return
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  }
  ~Screen() {
    if (taken_) std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_terminal() const { return terminal_; }
  // Does not wrap lines that are written to a pipe.
  void measure(std::size_t& rows, std::size_t& columns) const {
    winsize size{};
    const bool known =
        terminal_ && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 2 && size.ws_col > 0;
    rows = known ? size.ws_row : 40;
    columns = known ? size.ws_col : std::numeric_limits<std::size_t>::max();
  }
  void show(const std::string& page) {
    if (!terminal_) {
      std::fwrite(page.data(), 1, page.size(), stdout);
      std::fputc('\n', stdout);
    } else {
      std::string text = taken_ ? "\x1b[H" : "\x1b[?1049h\x1b[?25l\x1b[H";
      taken_ = true;
      for (const char c : page) text += c == '\n' ? std::string("\x1b[K\r\n") : std::string(1, c);
      text += "\x1b[J";
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
    std::fflush(stdout);
  }

 private:
  bool terminal_;
  bool taken_ = false;
};

std::string heading(const session::Session& session) {
  std::string command;
  for (const std::string& word : session.manifest.command) command += ' ' + base::printable(word);
  std::optional<double> seconds;
  for (const session::Process& process : session.processes) {
    const session::ProcessRecord& record = process.record;
    if (record.clock_last != 0) seconds = std::max(seconds.value_or(0), record.seconds(record.clock_last));
  }
  return fmt::format("cudadiag: {}:{}", report::state_text(true, seconds, true), command);
}

int follow_run(const StatusOptions& options) {
  auto opened = choose_run(options.output, options.session);
  if (const auto* failure = std::get_if<base::Error>(&opened)) return say(*failure), kOwnFailure;
  auto& run = std::get<supervise::LiveRun>(opened);
  std::string last_words;
  bool shown = false;
  {
    Screen screen;
    report::ActivityWatch watch;
    for (unsigned looks = 0; ended_by == 0 && (!options.count || looks < *options.count); ++looks) {
      const std::timespec pause{kBetweenLooks, 0};
      if (looks > 0 && ::nanosleep(&pause, nullptr) != 0) break;
      const auto read = run.read();
      if (const auto* failure = std::get_if<base::Error>(&read)) {
        last_words = failure->what + "; " + failure->hint;
        break;
      }
      const auto& session = std::get<session::Session>(read);
      if (!run.goes_on().value_or(true)) {
        last_words = "the run is over; cudadiag status " + diagnose::shell_word(run.folder().string()) +
                     " shows what was unfinished";
        break;
      }
      std::size_t rows = 0, columns = 0;
      screen.measure(rows, columns);
      const report::Activity activity = watch.look(session);
      shown = true;
      screen.show(report::write_activity(heading(session), activity, rows - 1, columns));
    }
  }
  if (!last_words.empty()) say(last_words);
  return shown || last_words.empty() ? 0 : kOwnFailure;
}

}  // namespace

void add_status(CLI::App& app, int& status) {
  auto options = std::make_shared<StatusOptions>();
  auto* command = app.add_subcommand("status", "show what a run is waiting for now");
  add_input(command, options->session, options->output);
  command->add_flag_callback(
      "-v,--verbose", [options] { options->verbosity = report::Verbosity::verbose; }, "print all details");
  auto* json = command->add_flag("--json", options->json, "print JSON");
  auto* follow = command->add_flag("--follow", options->follow, "show what the run is doing, updated every second")
                     ->excludes(json)
                     ->excludes(command->get_option("--verbose"));
  add_number(command, "-n,--count", options->count, NumberRange<unsigned>{1u, 1000000u, "number from 1 to 1000000"},
             "COUNT", "with --follow: stop after COUNT updates")
      ->needs(follow);
  add_colour(command);
  name_page(command);
  command->callback([options, &status] { status = options->follow ? follow_run(*options) : carry_out(*options); });
}

}  // namespace cudadiag::command
