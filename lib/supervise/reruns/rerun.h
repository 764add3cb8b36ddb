// One rerun of a recorded command: away from the terminal, within a time limit, ended early if it makes no progress.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/input.h"
#include "launch/process.h"
#include "session/pass_kind.h"
#include "session/session.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

class RerunListener;

struct RerunSpec {
  session::PassKind kind = session::PassKind::confirm;
  std::string window{};                  // see wire/rerun/window.h
  std::string values{};                  // see wire/rerun/values.h; empty if no values are read
  double seconds_for_values = 0;         // for an origin pass: the time that it may spend on values
  unsigned save_limit = 0;               // MiB of memory to save with each launch that it waits for; 0 to save none
  bool without_values = false;           // because reading values may have changed the path of the previous rerun
  std::string waits{};                   // a description of what it waits for
  std::string sanitizer{};               // path of compute-sanitizer
  std::vector<std::string> kernels{};    // the kernels that it checks, mangled
  double time_limit = 0;                 // seconds
  std::optional<double> dump_after{};    // for a device pass: when to request a dump from the driver, in seconds
  std::uint64_t operations = 0;          // how many operations the first run issued, to show progress; 0 if unknown
  double expected_seconds = 0;           // its expected duration according to the first run, to show progress
  bool show = false;                     // sends its output to our standard error instead of a file
  const launch::Input* input = nullptr;  // null for /dev/null
  bool isolated = false;                 // it can change nothing but its own folders
  double quiet_limit = 0;                // seconds without any operation after which it is ended; 0 for no limit
};

struct RerunResult {
  session::Pass pass;
  std::vector<session::Process> processes;
  std::optional<session::Races> races;
  bool interrupted = false;
  bool dump_asked = false;  // a process has received the request for a dump
};

// Adds a pass folder to the session. Reads the pass into `session`, with notes on everything that cannot be read.
base::Result<RerunResult> rerun(const RerunSpec& spec, session::Session& session, session::SessionWriter& writer,
                                launch::SignalRelay& relay, RerunListener& listener);

}  // namespace cudadiag::supervise
