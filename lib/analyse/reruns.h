// The reruns: what a rerun waits for, and what its failures prove about those of the first run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyse/failure.h"
#include "analyse/notes.h"
#include "analyse/process_ending.h"
#include "session/session.h"
#include "wire/site_key.h"

namespace cudadiag::analyse {

struct Analysis;

struct Rerun {
  enum class Outcome {
    proven,        // the program failed at an operation for which the rerun waited
    unproven,      // the same operation failed, but this proves nothing (see Failure::unproven)
    failed,        // the program failed again, but not at an operation for which the rerun waited
    given_up,      // the program failed again after the rerun had stopped waiting for operations
    other,         // the program failed at an operation that was not suspected, or has been ruled out since
    did_not_fail,  // the program ended without a failure of this kind
    cut_short,     // the rerun was interrupted before it could show anything
    not_reached,   // the program ended without a failure before it reached any suspect
    not_watched,   // the rerun had another purpose, such as a GPU core dump without the recorder
    not_recorded,  // the recorder could not watch the program
    kept_from,     // the program did not fail, but isolation denied it something, so this proves nothing
  };
  // Returns whether the failure recurred, at the same operation or at another one.
  bool came_back() const {
    return outcome == Outcome::proven || outcome == Outcome::unproven || outcome == Outcome::failed ||
           outcome == Outcome::given_up;
  }

  Outcome outcome = Outcome::did_not_fail;
  std::uint64_t waits = 0;         // how many operations the rerun waited for
  Ending end{};                    // how the rerun's command ended
  bool gave_up = false;            // an operation took too long, so the rerun stopped waiting for operations
  std::optional<Failure> failure;  // first failure of the rerun; its `process` belongs to the rerun
  // For a rerun without the recorder, made to get a GPU core dump: whether the failure recurred, as shown by the dump
  // or the program's exit. nullopt if unknown.
  std::optional<bool> failed_unwatched{};
  bool other_text = false;  // the user edited the code of the failing operation, so the rerun says nothing about it
  bool traced = false;      // the Python hook traced bad values
  // The program did not fail in the same way, perhaps because the Python hook was reading values or tracing them.
  bool disturbed = false;
};

// Whether the failure disappears when a rerun waits for operations.
enum class Vanished {
  no,              // the failure recurred, or no rerun waited for operations and succeeded
  race,            // a rerun without waiting failed again, and none succeeded
  comes_and_goes,  // a rerun without waiting succeeded, too
  open,            // no result of a rerun without waiting is known
};

// Evaluates session.reruns, and returns a result for each. Merges them into `failures`, which contains the failures of
// the record pass. If a rerun fails at a different operation, its failure is added as a separate one.
std::vector<Rerun> join_reruns(const session::Session& session, std::vector<Failure>& failures,
                               std::vector<Note>& notes, const CountedCalls& counted);

Vanished vanished(const std::vector<Rerun>& reruns);

// Returns true if a rerun proved that the operation fails with nothing else on the GPU, which rules out a race. Always
// false for a graph, because its nodes can run at the same time.
bool failed_alone(const Failure& failure);

// Returns the key of the first candidate's site; 0 if there is none.
wire::site_key::Key lead_key(const Failure& failure);

// Returns whether each candidate launches a kernel that its process launches at a single place in the code. The
// kernel's name then identifies this place in a rerun that is observed in another way. Between the program and the
// driver, a statically linked runtime takes another path if CUPTI observes it, so the call sites differ.
bool are_identified_by_kernels(const Failure& failure);

// Returns whether the two failures have candidates that the same code issued.
bool shares_code(const Failure& failure, const Failure& again);

// If the user edited the code that issued a candidate before the rerun, returns the edited file; otherwise "".
std::string rewritten_of(const Failure& failure, const session::Pass& pass);

// Returns whether a failure of a rerun may be the same one, according to its error code.
bool are_of_one_kind(const Failure& failure, const Failure& again);

// If `again` shows that `failure` recurred in the rerun `pass`, updates `failure` and returns true. If the same
// operation failed with another kind of error, it returns true too, but only adds this to the evidence.
bool confirm(Failure& failure, const Failure& again, const session::Pass& pass, const CountedCalls& counted);

// Lowers the grade if a rerun failed with the same kind of error at different code. Either the program behaves
// differently from run to run, or fewer operations of the first run had finished than its recording suggests. Does
// nothing if isolation denied the rerun something, which may be why it failed elsewhere.
void doubt(Failure& failure, const Failure& again, const session::Pass& pass);

// Which operations a rerun waits for. Each value includes the operations of the previous value.
enum class WindowReach {
  calls,       // each candidate's site, from the candidate's call on
  sites,       // all calls of the candidates' sites and kernels
  everything,  // every operation
};

// The text in RerunWindow::words for a window that covers every operation. Manifests store this text
// (session::Pass::waits), so it must not change.
inline constexpr const char* kEveryOperation = "every operation";

struct RerunWindow {
  std::string text;   // wire/rerun.h; empty if there is nothing to wait for
  std::string words;  // for people: "call 3 of train.py's…"
};

// Covers the asynchronous failures of `analysis`. With WindowReach::sites, also covers the failures of reruns.
// `always_hooked`: the Python hook calls all operators of the rerun, not only those that are close to a candidate.
RerunWindow rerun_window(const Analysis& analysis, WindowReach reach, bool always_hooked = false);

// Returns the window of a rerun that saves the failing launch: the candidates that launch a kernel, and a few calls
// before each. Identifies kernels by name, because the rerun may record a call site with different stacks than the
// first run.
RerunWindow launch_window(const Analysis& analysis);

// Returns a window of all operations of the sites for which `wanted` is true.
RerunWindow window_of_sites(const session::Session& session,
                            const std::function<bool(const session::Process&, const session::Site&)>& wanted);

// Returns whether Inductor-generated code launched the likeliest candidate. The stack then contains a frame of the
// Python function, but not its line.
bool is_compiled(const Failure& failure);
// Returns whether the process ran code that torch.compile generated, as far as its recording shows.
bool ran_compiled(const session::ProcessRecord& record);
// Returns the compiled function or, after a graph break, the function that continues it; null if the code was not
// compiled.
const session::Code* compiled_function_of(const Failure& failure);

// After a graph break, Dynamo names the rest of `Model.forward` Model.torch_dynamo_resume_in_forward_at_31. Returns
// `Model.forward` for both names.
std::string whole_name(const std::string& name);

// Returns a separate session made of the reruns without torch.compile. The first rerun serves as the first run of this
// session, and the others confirm it. The session has no processes if there were no such reruns.
session::Session eager_session(const session::Session& session);

// Returns true if `eager`, a failure of `eager_session`, shows the line of `failure`. This is so if `eager` has a
// single call site, in a process of the same rank, and if the compiled function is on the stack of that call site. The
// two error codes may differ.
bool shows_line_of(const Failure& failure, const Failure& eager, const session::Session& eager_session);

}  // namespace cudadiag::analyse
