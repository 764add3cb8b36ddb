// Reruns the command after a run. Prints the messages, the progress and the question about reruns.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "launch/signals.h"
#include "launch/standard_descriptors.h"
#include "shared_options.h"
#include "supervise/recording.h"
#include "supervise/reruns/rerun.h"
#include "supervise/reruns/rerun_policy.h"
#include "supervise/reruns/rerun_table.h"
#include "terminal.h"

namespace cudadiag::command {

class RunReport;

// ---- the progress of a rerun

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

// ---- messages

inline constexpr const char* kMpsWarning =
    "this GPU may be shared through MPS: a rerun that fails can end the other programs on it";

// Returns the reason that completes "the command was not rerun, because ...".
std::string sentence(const supervise::RerunObstacle& obstacle);
// Returns why a pass that an option requests can add nothing.
std::string sentence(supervise::RerunProblem::Kind reason);

// Prints messages about the reruns to standard error.
class RerunMessages : public supervise::RerunListener {
 public:
  // `prints_passes`: print a line before and after each rerun. `after_each`: called after each rerun.
  RerunMessages(const session::Session& session, bool prints_passes,
                std::function<void(const analyse::Analysis&)> after_each = {})
      : session_(session), prints_passes_(prints_passes), after_each_(std::move(after_each)) {}

  void begins(const supervise::RerunSpec& spec, std::size_t number) override;
  void runs(const supervise::RerunSpec& spec, const supervise::RerunProgress& progress) override;
  void stops() override { progress_.reset(); }
  void repeats_launch(double limit) override;
  void ended(const supervise::RerunEnded& rerun) override;
  void cannot(const supervise::RerunProblem& problem) override;

 private:
  std::string bisect_command(const std::string& options) const;

  const session::Session& session_;
  bool prints_passes_;
  std::function<void(const analyse::Analysis&)> after_each_;
  std::optional<Progress> progress_;
};

// Returns the end of a message: how to run cuda-gdb on a GPU core dump if cudadiag cannot run it.
std::string debugger_advice(const std::filesystem::path& dump);

// ---- the question whether the command may be run again, asked once at the terminal
//
// ask() never changes the terminal's settings, so there is nothing to restore at exit, even after kill -9. The terminal
// therefore stays in line mode, and the answer is a whole line. Text typed before the question, or less than half a
// second after it, is not an answer. If such text is a whole line, the question is asked again.

supervise::TerminalState terminal_state();

// The number of planned reruns, their expected duration, and their limits.
struct RerunOutlook {
  unsigned runs = 0;      // if all of them succeed
  double seconds = 0;     // expected for each rerun
  std::string purpose;    // "to prove this" or "to find out more"
  std::string limits;     // such as "it changes no files"; empty if there are none
  std::string warning{};  // whom the reruns can harm, as a sentence without its period; empty if nobody
  unsigned most = 0;      // if some of them do not succeed
};

// Returns text such as "Run it again to prove this? Usually 2 runs, about 6 s each; it changes no files."
std::string question(const RerunOutlook& outlook);
// Returns text such as "running the command again to prove this: usually 2 runs, about 6 s each; it changes no files
// (turn off: --rerun=never)".
std::string announcement(const RerunOutlook& outlook);

struct AskingTimes {
  std::chrono::milliseconds deaf{500};  // ignore lines that are typed before this time has passed
  std::chrono::milliseconds patience{20'000};
};

// Asks on standard error and reads from `input`. Returns true only for the line "y" or "yes". Returns false at the end
// of input, after `patience`, or on a signal that asks this program to exit. Also returns false if this process is in
// the background.
bool ask(const std::string& question, int input, launch::SignalRelay& relay, const AskingTimes& times = {});

// Reruns the command if the policy or the user allows it, and prints messages about the reruns. Call this after the
// recording is finished and `report` has been printed. `signals`: those that cudadiag passed on to the command.
void offer_reruns(supervise::Recording& recording, RunReport& report, const RunOptions& options,
                  const launch::Input& input, launch::SignalRelay& relay, const std::set<int>& signals);

}  // namespace cudadiag::command
