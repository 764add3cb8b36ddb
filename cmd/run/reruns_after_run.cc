// Reruns the command after a run.
#include <unistd.h>

#include <algorithm>
#include <string>

#include "analyse/analysis.h"
#include "diagnose/words.h"
#include "launch/isolation/isolation.h"
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
    if (!is_wanted()) return explain_hang();
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
