// Decides whether cudadiag reruns a command after its run: at once, after asking the user, or not at all. Without
// asking, a rerun must be quick and isolated. Whether a rerun could add anything is another question: rerun_table.h.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "analyse/reruns.h"
#include "launch/standard_descriptors.h"
#include "session/session.h"

namespace cudadiag::supervise {

// Returns the number of ranks in the job of this process, or the least that it can be; 1 if there are no other ranks.
int ranks_of_job();

struct RerunObstacle {
  enum class Kind {
    under_another_launcher,
    ended_early,  // by cudadiag
    hung,
    ended_by_signal,  // probably sent from outside
    failed_late,
    took_long,
    one_rank,
    several_nodes,
    mps,
    input,
    descriptor,  // it names a descriptor that a rerun does not have
    not_isolated,
    no_folder,  // its working folder has been removed: during the run or, if `detail` is empty, before
    exposed,    // another user can replace the session's folder, so the rerun could write through links
    interrupted,
    // The user cannot be asked:
    no_terminal,
    no_terminal_for_errors,
    in_ci,
    quiet,
    in_background,
    dumb_terminal,
    raw_terminal,
  };
  Kind kind = Kind::hung;
  std::string detail{};  // why the input cannot be read again, why cudadiag ended the run, what isolation lacks, the
                         // signal or status that ended it, the folder that is exposed or has been removed, or the
                         // name of the descriptor
  double seconds = 0;    // until it failed or ended
};

// Returns whether the run shares its GPU with other programs through MPS, as far as its recording, the environment and
// the MPS daemon show. A rerun repeats the fault, which can end the other programs.
bool may_end_other_programs(const session::Session& session);

// The option --rerun. `ask`: rerun only if a user at the terminal agrees. `automatic`: rerun if decide_rerun() allows
// it. `standard`: `ask` at a terminal, otherwise `automatic`.
enum class RerunMode { standard, ask, automatic, always, never };

// The facts that determine whether a person can see and answer a question.
struct TerminalState {
  bool input_is_terminal = false, errors_are_terminal = false;
  bool in_foreground = false;   // on both standard input and standard error
  bool lines_are_read = false;  // false if a program left the terminal in raw mode
  bool dumb = false;            // according to TERM
  bool in_ci = false;           // according to CI or the variables of common CI services
};

struct RerunRequest {
  RerunMode mode = RerunMode::standard;
  bool isolated = false;       // reruns can be isolated; with RerunMode::always, they are not
  bool for_hang_dump = false;  // the user requested a GPU core dump of the hang
  bool quiet = false;          // -q
  bool interrupted = false;
  std::set<int> signals{};  // that cudadiag passed on to the command
  TerminalState terminal{};
};

struct RerunDecision {
  enum class Kind { start, ask, decline };
  // The advice after a refusal: rerun the command, with or without isolation, get a dump from the job's next run, or
  // record again in a folder that only the user can write to, or with a file in place of a descriptor.
  enum class Advice { bisect_isolated, bisect, once, other_folder, file };
  Kind kind = Kind::start;
  std::optional<RerunObstacle> obstacle{};  // why the command is not rerun
  Advice advice = Advice::bisect;           // also applies if the user declines
};

// `input`: what a rerun would read.
RerunDecision decide_rerun(const session::Session& session, const launch::Input& input, const RerunRequest& request);

struct RerunOptions {
  unsigned repeat = 1;                  // give up after this many reruns without a failure
  bool show = false;                    // show their output on standard error
  bool device = true;                   // run a pass for a GPU core dump
  bool hang_dump = false;               // run a pass for a GPU core dump of a hang
  bool values = true;                   // read the arguments of the suspects
  bool origin = false;                  // trace bad values in one pass, whatever the failure is
  bool save_inputs = false;             // save the failing call with its tensors, and a script that repeats it
  bool save_launch = false;             // save the failing launch with its memory, to repeat it on its own
  unsigned save_limit = 2048;           // MiB that a saved call or launch may take
  bool keep_core = false;               // keep the dump, however large it is
  bool cross_check = false;             // run cuda-gdb on the dump
  bool sanitize = false;                // run a pass under compute-sanitizer
  std::optional<unsigned> write_limit;  // MiB that an isolated rerun may write, all of which is thrown away; 0: nothing
  double patience = 5;                  // how many seconds to wait for one operation
  std::optional<double> time_limit;     // seconds for one rerun; the default depends on the first run

  // How many bytes of the failing call's tensors may be saved; 0: save none.
  std::uint64_t saved_bytes() const { return save_inputs ? std::uint64_t{save_limit} << 20 : 0; }
};

struct RerunPlan {
  RerunOptions options;
  std::optional<analyse::WindowReach> reach{};   // a fixed reach; by default, it grows
  std::optional<analyse::RerunWindow> window{};  // a window that the user chose
  const launch::Input* input = nullptr;          // null for /dev/null
  bool isolated = false;                         // the reruns are isolated, so they can change nothing
};

// Returns how many seconds a rerun will probably take until it fails.
double expected_seconds(const session::Session& session);

// Returns the longest period, in seconds, in which the first run issued no operation. If this is unknown, returns the
// duration of the whole run.
double longest_pause(const session::Session& session);

// Returns `window` (wire/rerun.h) with an added item that limits the time for each operation.
std::string with_patience(const std::string& window, double seconds);

}  // namespace cudadiag::supervise
