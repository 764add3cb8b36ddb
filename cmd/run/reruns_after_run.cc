// Reruns the command after a run, if the policy allows it or the user agrees.
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "analyse/analysis.h"
#include "diagnose/words.h"
#include "launch/isolation/isolation.h"
#include "launch/spawn.h"
#include "report/writers.h"
#include "run/reruns.h"
#include "run/watched_run.h"
#include "session/session_reader.h"
#include "sessions/session_choice.h"
#include "supervise/reruns/rerun.h"
#include "supervise/reruns/rerun_policy.h"
#include "supervise/reruns/rerun_table.h"
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
  const char* link = outlook.most == outlook.runs + 1 ? "or" : "to";
  const std::string more = outlook.most > outlook.runs ? fmt::format(" {} {}", link, outlook.most) : "";
  const bool one = outlook.runs == 1 && more.empty();
  return fmt::format("{}{} {}, {}{}{}", outlook.runs, more, one ? "run" : "runs", about(outlook.seconds),
                     one ? "" : " each", limits);
}

volatile sig_atomic_t was_continued = 0;

extern "C" void on_continue(int) { was_continued = 1; }

// Notices that this process was stopped and continued.
class Continued {
 public:
  Continued() {
    was_continued = 0;
    launch::keep_for_targets(SIGCONT);
    struct sigaction action {};
    action.sa_handler = on_continue;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGCONT, &action, &before_);
  }
  ~Continued() { ::sigaction(SIGCONT, &before_, nullptr); }
  Continued(const Continued&) = delete;
  Continued& operator=(const Continued&) = delete;
  // Returns true once after each time.
  bool once() { return std::exchange(was_continued, 0) != 0; }

 private:
  struct sigaction before_ {};
};

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
    Continued continued;
    write_error_text(text_);
    bool timed_out = false;
    while (true) {
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
      // Prints the question again after Ctrl-Z and fg, because the shell's lines stand below it.
      if (continued.once()) write_error_text('\r' + text_);
      if (!heeded_ || ready <= 0) continue;
      if (const auto answer = read_line()) return agrees(*answer);
    }
    // Discards a half-typed line, which the shell would otherwise read.
    if (!lost_foreground(input_)) ::tcflush(input_, TCIFLUSH);
    write_error_text(timed_out ? "no answer\n" : "\n");
    return false;
  }

 private:
  // Nobody can have read the question before an earlier line, so that line is not an answer. Asks again. A line that
  // was begun earlier but is ended later counts.
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

supervise::TerminalState terminal_state() {
  supervise::TerminalState state;
  state.input_is_terminal = ::isatty(STDIN_FILENO) != 0;
  state.errors_are_terminal = ::isatty(STDERR_FILENO) != 0;
  state.in_foreground = launch::in_foreground(STDIN_FILENO) && launch::in_foreground(STDERR_FILENO);
  state.lines_are_read = reads_lines(STDIN_FILENO);
  state.dumb = !can_be_driven(STDERR_FILENO);
  state.in_ci = runs_in_ci();
  return state;
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

namespace {

class RerunsAfterRun {
 public:
  RerunsAfterRun(supervise::Recording& recording, RunReport& report, const RunOptions& options,
                 const launch::Input& input, launch::SignalRelay& relay, const std::set<int>& signals)
      : recording_(recording),
        report_(report),
        session_(recording.session()),
        options_(options),
        input_(input),
        relay_(relay),
        signals_(signals),
        for_hang_dump_(options.rerun.hang_dump && recording.hung()),
        plan_{options.rerun} {
    plan_.input = &input;
    // --rerun=always runs the program without restrictions, so its reruns are not isolated.
    plan_.isolated = options.rerun_mode != supervise::RerunMode::always && !launch::missing_isolation();
  }

  void make() {
    if (!is_wanted()) return explain_options(), explain_hang();
    if (!recording_.keeps_session()) {
      if (!report_.findings()) return;
      return say(std::string("cannot rerun the command to prove this: no session could be stored") +
                 (options_.recording.output ? "" : "; choose a folder for it with -o FOLDER"));
    }
    if (!is_agreed(decide())) return;
    report::TextOptions shown = text_options(options_.verbosity, STDERR_FILENO);
    shown.is_latest = is_latest(session_.folder, options_.recording.output);
    report::RerunText text(report_.report(), shown);
    RerunMessages messages(session_, false, [&](const analyse::Analysis& analysis) { print_proof(analysis, text); });
    supervise::run_reruns(session_, recording_.state(), *recording_.writer(), relay_, plan_, messages);
    for (const report::RerunMessage& message : text.finish(report_.report())) {
      const bool sentence = message.kind == report::RerunMessage::Kind::sentence;
      sentence ? say(message.text) : write_error_text(message.text);
    }
  }

 private:
  bool is_wanted() const {
    if (options_.rerun_mode == supervise::RerunMode::never && !for_hang_dump_) return false;
    return supervise::wants_reruns(known());
  }

  void explain_options() const {
    const bool never = options_.rerun_mode == supervise::RerunMode::never;
    if (never || is_quiet() || recording_.state().analysis().failures.empty()) return;
    for (const auto reason : supervise::reasons_against(known())) say(sentence(reason));
  }

  // A rerun would hang as well. It helps only if the user requested a dump of the hang.
  void explain_hang() const {
    const bool asked =
        options_.rerun_mode == supervise::RerunMode::always || options_.rerun_mode == supervise::RerunMode::ask;
    if (!asked || !recording_.hung() || is_quiet()) return;
    const supervise::RerunDecision decision = decide();
    if (decision.advice == supervise::RerunDecision::Advice::once) return decline(decision);
    say("the command was not rerun, because it hung; to rerun it for a GPU core dump of the hang: --on-hang=dump");
  }

  supervise::Known known() const { return supervise::known(session_, recording_.state(), plan_); }

  // Prints the proof if an operation is newly proven. Builds a diagnosis only in that case, because symbolizing takes
  // time.
  void print_proof(const analyse::Analysis& analysis, report::RerunText& text) {
    const bool proven = std::ranges::any_of(analysis.failures, [](const auto& failure) {
      return analyse::is_asynchronous(failure.kind) && failure.evidence.proves();
    });
    if (!proven || text.has_printed_proof()) return;
    if (const std::string line = text.proof(report_.report()); !line.empty()) say(line);
  }

  RerunOutlook outlook() const {
    RerunOutlook outlook;
    outlook.runs = supervise::planned_reruns(known());
    outlook.most = outlook.runs + supervise::further_reruns(known());
    outlook.seconds = supervise::expected_seconds(session_);
    if (plan_.isolated) {
      outlook.limits = "it changes no files";
    } else if (const auto missing = launch::missing_isolation(); missing && may_ask()) {
      outlook.limits = "it can repeat everything that the program does (not isolated: " + *missing + ")";
    } else {
      outlook.limits = "it can repeat everything that the program does";
    }
    outlook.purpose = purpose();
    if (supervise::may_end_other_programs(session_)) outlook.warning = kMpsWarning;
    return outlook;
  }

  bool may_ask() const {
    return options_.rerun_mode == supervise::RerunMode::ask || options_.rerun_mode == supervise::RerunMode::standard;
  }

  const char* purpose() const {
    if (!report_.findings()) return "to see which operations race";
    const bool races = std::ranges::all_of(report_.report().findings,
                                           [](const diagnose::Finding& finding) { return finding.race.has_value(); });
    if (races) return "to name the tensors that race";
    const bool proven = std::ranges::all_of(report_.report().findings,
                                            [](const diagnose::Finding& finding) { return finding.evidence.proves(); });
    return proven ? "to find out more" : "to prove this";
  }

  supervise::RerunDecision decide() const {
    return supervise::decide_rerun(session_, input_,
                                   {.mode = options_.rerun_mode,
                                    .isolated = !launch::missing_isolation(),
                                    .for_hang_dump = for_hang_dump_,
                                    .quiet = is_quiet(),
                                    .interrupted = relay_.interrupted(),
                                    .signals = signals_,
                                    .terminal = terminal_state()});
  }

  bool is_agreed(const supervise::RerunDecision& decision) {
    using Kind = supervise::RerunDecision::Kind;
    if (decision.kind == Kind::start) return announce(), true;
    if (decision.kind == Kind::ask && ask(question(outlook()), STDIN_FILENO, relay_)) return true;
    decline(decision);
    return false;
  }

  bool is_quiet() const { return options_.verbosity == report::Verbosity::quiet; }

  void announce() {
    if (is_quiet()) return;
    if (supervise::may_end_other_programs(session_)) say(kMpsWarning);
    // RerunMessages announces a rerun for the dump of a hang, with its time limit.
    if (!for_hang_dump_) say(announcement(outlook()));
    if (!session_.manifest.input_read) return;
    if (const std::string obstacle = input_.obstacle(); !obstacle.empty()) {
      say("the rerun gets no input, because " + obstacle);
    }
  }

  // Prints why the command is not rerun, and how the user can rerun it.
  void decline(const supervise::RerunDecision& decision) const {
    using Advice = supervise::RerunDecision::Advice;
    if (!report_.findings() || is_quiet()) return;
    const std::string why =
        decision.obstacle ? "the command was not rerun, because " + sentence(*decision.obstacle) : "";
    if (decision.advice == Advice::once) {
      return say(why + (options_.recording.record.once
                            ? ""
                            : "; to get a GPU core dump from the next run of the job, put this in front of each rank's "
                              "command: cudadiag run --once " +
                                  (recording_.hung() ? "--hang-after SECONDS --" : std::string("--"))));
    }
    if (decision.advice == Advice::file) {
      return say(why + ". To prove this and find the cause, run it again with a file in place of " +
                 decision.obstacle->detail);
    }
    if (decision.advice == Advice::other_folder) {
      return say(why +
                 ". To prove this and find the cause, run it again with a folder that only you can write to: -o FOLDER "
                 "or CUDADIAG_DIR");
    }
    const bool isolated = decision.advice == Advice::bisect_isolated;
    const bool named = !is_latest(session_.folder, options_.recording.output);
    const std::string command =
        "prove this and find the cause: " +
        diagnose::bisect_command(named ? session_.folder.string() : "", session_.manifest.input_read,
                                 session_.manifest.rerun_options, isolated ? diagnose::kIsolated : "") +
        (isolated ? "" : diagnose::kNotIsolated);
    const bool mps_said = decision.obstacle && decision.obstacle->kind == supervise::RerunObstacle::Kind::mps;
    const bool warns = !mps_said && supervise::may_end_other_programs(session_);
    say((why.empty() ? "to " : why + way_without_asking(decision) + ". To ") + command +
        (warns ? std::string("; but ") + kMpsWarning : ""));
  }

  std::string way_without_asking(const supervise::RerunDecision& decision) const {
    const bool hidden = decision.obstacle->kind == supervise::RerunObstacle::Kind::no_terminal_for_errors;
    return hidden && plan_.isolated ? " (with </dev/null, cudadiag reruns it without asking)" : "";
  }

  supervise::Recording& recording_;
  RunReport& report_;
  session::Session& session_;
  const RunOptions& options_;
  const launch::Input& input_;
  launch::SignalRelay& relay_;
  const std::set<int>& signals_;
  const bool for_hang_dump_;
  supervise::RerunPlan plan_;
};

}  // namespace

void offer_reruns(supervise::Recording& recording, RunReport& report, const RunOptions& options,
                  const launch::Input& input, launch::SignalRelay& relay, const std::set<int>& signals) {
  RerunsAfterRun(recording, report, options, input, relay, signals).make();
}

}  // namespace cudadiag::command
