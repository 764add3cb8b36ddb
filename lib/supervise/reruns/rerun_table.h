// The table of reruns: for each pass, when it is wanted, how often it runs the command, and what it finds.
//
// A rerun repeats the side effects of somebody else's program, and takes as long as the program. Therefore a pass is
// made only if it can still add a fact, and only once. The table is read by everything that has to agree about this:
// the offer at the terminal and its estimate, the sequence of reruns, `bisect`, and the table in cudadiag-evidence(7),
// which a test compares. If an option requests a pass that can add nothing, the table has the reason, too.
//
// A rerun that confirms may leave a GPU core dump too, as a run with --once does. The recorder then watches by hooks,
// and the driver ends the program after the dump. If the driver writes no dump, a device pass follows.
//
// A rerun that confirms a failed assertion of PyTorch also traces its bad value. If it fails in another way, or not at
// all, it proves nothing, and a rerun that traces nothing follows. A separate rerun traces the value if this one could
// not: torch.compile must be off for that, which makes it another program.
//
// The order of the rows is the order of the passes. Each pass uses what the earlier ones found: the proof comes first,
// because it may leave a single suspect, whose values the origin pass then traces and whose launch can be saved. The
// passes without the recorder come last, because they find nothing that another pass needs.
//
// Whether the command may be run again at all is another question: see rerun_policy.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/session_state.h"
#include "session/session.h"
#include "supervise/reruns/rerun.h"
#include "supervise/reruns/rerun_policy.h"

namespace cudadiag::supervise {

enum class Task {
  confirm,
  save_launch,
  ask_allocator,
  trace_origin,
  replay_saved_call,  // runs a script, not the command
  find_racing_tensors,
  run_eagerly,
  get_dump,
  get_hang_dump,
  find_address,
  cross_check,  // runs cuda-gdb, not the command
  sanitize,
  replay_launch,  // runs the saved launch, not the command
};

// The facts from which the table decides whether a pass is made.
struct Known {
  const session::Session& session;
  const analyse::Analysis& analysis;
  const RerunPlan& plan;
  // Whether a finding names a bad value. Null if no rerun has read values yet; then PyTorch is expected to have one.
  std::function<bool()> names_bad_value{};
  // Whether every failed assertion has its device line, from the text that it printed in a rerun. Null if there was no
  // rerun yet; then the text is expected.
  std::function<bool()> has_assertions{};
  // Whether a failed access still lacks its address. Null if a dump may still show it.
  std::function<bool()> lacks_address{};
  bool has_sanitizer = false;  // compute-sanitizer is installed
};

// `state` must belong to `session`. The result refers to all arguments.
Known known(const session::Session& session, diagnose::SessionState& state, const RerunPlan& plan);

struct PassRow {
  Task task;
  bool RerunOptions::*option;      // must be set; null if no option is needed
  bool (*adds)(const Known&);      // it is possible, and can still add a fact
  unsigned (*runs)(const Known&);  // how many times it runs the command if it succeeds; null: never
  // Why it adds nothing; nullopt if no option requested it. Null if the user gets no reason.
  std::optional<RerunProblem::Kind> (*why_not)(const Known&) = nullptr;
  bool waits_for_others = false;    // earlier passes may make it possible, so its reason is given at its turn
  std::string_view kind{};          // as in CUDADIAG_PASS and on the manual page; empty if it runs no command
  std::string_view when{}, does{};  // the manual's words
};

std::span<const PassRow> passes();

// The address of a failed access that no dump shows is found by a replay of the saved launch under compute-sanitizer.
// Unless the user requests that, saving, rerun and replay together may take this long. The estimates below decide
// whether a replay is made, and its time limit is the rest of these seconds.
inline constexpr double kSecondsForAddress = 10;
// Estimates: the start of a process with compute-sanitizer and CUDA, and the speed at which memory is saved, or loaded.
inline constexpr double kSecondsToReplay = 4, kSavedPerSecond = 500e6;
// How much memory is saved for the address, in MiB: while a rerun confirms, or in a rerun of its own.
inline constexpr unsigned kSavedWhileConfirming = 128, kSavedForAddress = 512;

// Returns how many bytes the failing launch will save, as far as its recorded parameters show; nullopt if unknown.
std::optional<std::uint64_t> bytes_to_save(const analyse::Analysis& analysis);
// Returns whether the options include this pass and it can still add a fact.
bool is_wanted(const PassRow& row, const Known& known);
// Returns why a requested pass would add nothing. Returns nullopt if it may add something, or was not requested.
std::optional<RerunProblem::Kind> why_unwanted(const PassRow& row, const Known& known);
// Returns these reasons for all passes, each once.
std::vector<RerunProblem::Kind> reasons_against(const Known& known);
// Returns whether any pass is wanted.
bool wants_reruns(const Known& known);
// Returns how many times the wanted passes run the command if all of them succeed. A rerun that does not succeed makes
// further ones necessary.
unsigned planned_reruns(const Known& known);

// Returns how many more reruns may follow the planned ones: if the driver crashes while it writes the dump, one without
// a dump, and one that only gets it; if an assertion prints no text, one that gets a dump.
unsigned further_reruns(const Known& known);

// Returns whether the rerun that confirms should also leave a GPU core dump.
bool confirms_with_dump(const Known& known);
// Returns whether the rerun that confirms should also trace bad values.
bool confirms_with_origin(const Known& known);
// Returns whether the rerun that confirms should also save the failing launch, in case that its dump shows no address.
bool confirms_with_launch(const Known& known);
// Returns whether the session has a failure of GPU work that is not proven yet.
bool wants_proof(const analyse::Analysis& analysis);
// Returns whether a rerun may name the tensors that race, or decide whether undecided pairs of operations race.
bool wants_races(const session::Session& session);

// Returns whether the session has a pass of this kind. Ignores a pass that was cut short and left no dump.
bool was_made(const session::Manifest& manifest, session::PassKind kind);

struct SanitizerKernels {
  std::vector<std::string> names;  // mangled, most likely first
  bool all = true;                 // the failing kernel must be one of these
};

// Finds the first failure of a kind that compute-sanitizer can detect. Returns the kernels that may have caused it.
SanitizerKernels sanitizer_kernels(const analyse::Analysis& analysis);

// Returns the newest pass whose dump cuda-gdb has not read; null if there is none.
session::Pass* unchecked_dump(session::Manifest& manifest);

}  // namespace cudadiag::supervise
