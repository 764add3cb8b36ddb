// `cudadiag status`: shows what a run is waiting for now. With --follow, it shows what the run is doing, and with
// --check whether the run makes progress.
#include "diagnose/status.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "analyse/hang.h"
#include "base/processes.h"
#include "base/text.h"
#include "command_line.h"
#include "commands/commands.h"
#include "diagnose/session_state.h"
#include "diagnose/words.h"
#include "report/status.h"
#include "session/process_record.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "session/session_trust.h"
#include "sessions/session_choice.h"
#include "shared_options.h"
#include "supervise/reruns/gpu_dumps.h"
#include "symbolize/source_file.h"
#include "terminal.h"
#include "wire/hash.h"
#include "wire/pass_files.h"

namespace cudadiag::command {
namespace {

struct StatusOptions {
  std::string session;
  std::optional<std::filesystem::path> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  bool json = false;
  bool follow = false;
  std::optional<double> check;    // how many seconds a process may make no progress
  bool dump = false;              // with `check`: request a GPU core dump of a process that makes no progress
  std::optional<unsigned> count;  // with `follow`: the number of displays to print; nullopt: until the run ends
};

int carry_out(const StatusOptions& options) {
  supervise::LiveRun run = choose_run(options.output, options.session);
  const session::Session session = taken(run.read());
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
  print(options.json ? report::write_status_json(status) : report::write_status_text(status, shown));
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
  supervise::LiveRun run = choose_run(options.output, options.session);
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

// Changes when the process makes progress. Considers only calls that may block, because a loop that queries whether
// something is ready makes no progress.
std::uint64_t progress_of(const session::ProcessRecord& record) {
  std::uint64_t digest = wire::kHashSeed;
  const auto add = [&](std::uint64_t value) { digest = wire::mix(digest, value); };
  for (const session::Thread& thread : record.threads) {
    add(thread.published);
    if (thread.blocked.site != 0) add(thread.call_ticks);
  }
  for (const session::Stream& stream : record.streams) {
    add(stream.issued);
    add(stream.completed());
  }
  return digest;
}

// Returns how long ago the process last issued an operation, or began a call that may block.
double idle_seconds(const session::ProcessRecord& record) {
  std::uint64_t newest = record.operations.empty() ? 0 : record.operations.back().ticks;
  for (const session::Thread& thread : record.threads) {
    if (thread.blocked.site != 0) newest = std::max(newest, thread.call_ticks);
  }
  return record.seconds(record.clock_last) - record.seconds(newest);
}

// The check of --check. A process that has been idle for long enough may still have a long queue, so the check then
// watches it.
class Check {
 public:
  Check(supervise::LiveRun& run, const StatusOptions& options) : run_(run), options_(options) {}

  int run() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(*options_.check);
    while (true) {
      const session::Session session = taken(run_.read());
      if (!run_.goes_on().value_or(false)) {
        return say("nothing to check: " + run_.folder().string() + " is not a run in progress on this machine"),
               kOwnFailure;
      }
      if (const session::Process* frozen = look_at(session)) {
        say("process " + std::to_string(frozen->pid) + " has a sticky CUDA error; for its line: cudadiag report " +
            diagnose::shell_word(run_.folder().string()));
        return kFound;
      }
      if (still_.empty()) return 0;
      if (std::chrono::steady_clock::now() >= until) return report(session), kFound;
      const std::timespec pause{0, static_cast<long>(1e9 * std::min(*options_.check / 10, 0.5))};
      ::nanosleep(&pause, nullptr);
    }
  }

 private:
  static constexpr int kFound = 1;

  // Updates `still_`. Returns a live process with a sticky error; null if there is none.
  const session::Process* look_at(const session::Session& session) {
    std::map<std::uint32_t, std::uint64_t> still;
    for (const session::Process& process : session.processes) {
      if (!run_.lives(process) || base::life_of(process.pid) != base::Life::runs) continue;
      const session::ProcessRecord& record = process.record;
      if (record.state == wire::area::State::frozen) return &process;
      if (record.state != wire::area::State::recording || idle_seconds(record) < *options_.check) continue;
      if (!analyse::hang(process, *options_.check)) continue;
      const std::uint64_t progress = progress_of(record);
      const auto known = still_.find(process.pid);
      if (is_first_ || (known != still_.end() && known->second == progress)) still.emplace(process.pid, progress);
    }
    is_first_ = false;
    still_ = std::move(still);
    return nullptr;
  }

  void report(const session::Session& session) {
    diagnose::SessionState state(session);
    const diagnose::Status status = diagnose::build_status(session, {}, run_.goes_on(), state.symbolizer());
    for (const auto& [pid, progress] : still_) {
      const auto work = diagnose::oldest_work(status, pid);
      say("process " + std::to_string(pid) + " has made no progress for " + diagnose::duration(*options_.check) +
          (work ? ": " + work->text + " is unfinished" : ""));
    }
    if (options_.dump) dump(session);
  }

  void dump(const session::Session& session) const {
    launch::SignalRelay relay;
    const auto& passes = session.manifest.passes;
    const std::string pass = passes.empty() ? session::kRecordFolder : passes.front().folder;
    supervise::request_dump(session.folder / pass, relay);
    const auto read = run_.read();
    const auto* after = std::get_if<session::Session>(&read);
    bool any = false;
    for (const session::Process& process : after == nullptr ? session.processes : after->processes) {
      if (!still_.contains(process.pid) || !session::left_requested_dump(process.record)) continue;
      any = true;
      const auto file = wire::core_dump::file_name(process.pid, process.record.start_realtime);
      say("to see where its kernels are: cudadiag core " +
          diagnose::shell_word((session.folder / pass / file.text).string()));
    }
    if (!any) say("no GPU core dump: the driver can write one only of a program that was started with --once");
  }

  supervise::LiveRun& run_;
  const StatusOptions& options_;
  std::map<std::uint32_t, std::uint64_t> still_;  // by pid: the progress of each process that may hang
  bool is_first_ = true;
};

int check_run(const StatusOptions& options) {
  supervise::LiveRun run = choose_run(options.output, options.session);
  return Check(run, options).run();
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
  auto* check = add_number(command, "--check", options->check,
                           NumberRange<double>{0.1, 1e7, "number of seconds from 0.1 to 10000000"}, "SECONDS",
                           "exit with 1 if a process has made no progress for SECONDS while work is unfinished")
                    ->excludes(json)
                    ->excludes(follow);
  command->add_flag("--dump", options->dump, "with --check: request a GPU core dump of such a process")->needs(check);
  add_colour(command);
  name_page(command);
  command->callback([options, &status] {
    status = options->check ? check_run(*options) : options->follow ? follow_run(*options) : carry_out(*options);
  });
}

}  // namespace cudadiag::command
