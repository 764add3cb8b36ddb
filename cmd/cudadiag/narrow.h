// Reruns of a recorded command, one after the other, until its failure is proven or nothing is left to learn.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "analyse/rerun_window.h"
#include "commands.h"
#include "launch/input.h"
#include "launch/process.h"
#include "session/session.h"
#include "session/session_writer.h"

namespace cudadiag::command {

struct NarrowOptions {
  std::optional<analyse::Reach> reach;         // only this far; by default further and further
  std::optional<analyse::RerunWindow> window;  // set by hand instead
  unsigned repeat = 1;                         // reruns that may pass without a failure
  double patience = 5;                         // seconds that an operation may take while it is waited for
  std::optional<double> time_limit;            // seconds a rerun; by default by the length of the first run
  bool device = true;                          // a device pass at the end
  bool hang_dump = false;                      // one of the kernels that run, of a hang
  bool cross_check = false;                    // cuda-gdb over its dump
  bool sanitize = false;                       // a pass under compute-sanitizer after that
  bool values = true;                          // what the suspects' arguments were is looked at
  std::uint64_t save_limit = 0;          // bytes that the failing call's tensors may have to be saved; 0: they are not
  bool show = false;                     // the reruns' output, on standard error
  bool tell_passes = false;              // a line before and after each
  const launch::Input* input = nullptr;  // null: /dev/null
  bool isolated = false;                 // the reruns can change nothing
  std::function<void(const analyse::Analysis&)> after_rerun{};  // called after each, with what is known then
};

// Takes from the command line what concerns reruns.
void follow(const RerunOptions& given, NarrowOptions& options);

// The passes are added to `session`, and to its folder as soon as each is over. False: one could not be run, which is
// said.
bool narrow(session::Session& session, session::SessionWriter& writer, launch::SignalRelay& relay,
            const NarrowOptions& options);

// How many reruns follow if each of them shows what it is made for; more if not.
unsigned planned_reruns(const session::Session& session, const NarrowOptions& options);
// Whether a rerun could change, strengthen or enrich what is known, or a witness was asked for that had no say yet.
bool worth_narrowing(const analyse::Analysis& analysis, const session::Manifest& manifest, const RerunOptions& options);
// Why cuda-gdb has no GPU core dump to be asked about; empty: it has.
std::string obstacle_to_cross_check(const session::Manifest& manifest);
// Whether a rerun could tell which tensors race, or whether what could not be judged races.
bool worth_naming(const session::Session& session);
// The window (wire/window.h) with the time that one operation may take.
std::string with_patience(const std::string& window, double seconds);
// The longest time in which the first run issued no operation, as far as can be known; its whole length otherwise.
double longest_pause(const session::Session& session);
// How long one rerun will take, by the first run: to its failure.
double expected_seconds(const session::Session& session);

}  // namespace cudadiag::command
