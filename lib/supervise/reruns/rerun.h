// One rerun of a recorded command: apart from the terminal, within a time limit, as long as it has something to say.
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
  std::string window{};                  // wire/rerun/window.h
  std::string values{};                  // wire/rerun/values.h; empty: none are taken
  double seconds_for_values = 0;         // of an origin pass: that it may take for them
  unsigned save_limit = 0;               // MiB of memory to save with each launch that it waits for; 0: none is saved
  bool without_values = false;           // as a rerun that took some may have gone another way for that
  std::string waits{};                   // what it waits for, in words
  std::string sanitizer{};               // path of compute-sanitizer
  std::vector<std::string> kernels{};    // that it checks, mangled
  double time_limit = 0;                 // seconds
  std::optional<double> dump_after{};    // of a device pass: when the driver is asked for a dump, in seconds
  std::uint64_t operations = 0;          // that the first run issued, for the progress shown; 0: not known
  double expected_seconds = 0;           // that it takes by the first run, for the progress shown
  bool show = false;                     // its output goes to our standard error, not to a file
  const launch::Input* input = nullptr;  // null: /dev/null
  bool isolated = false;                 // it can change nothing but its own folders
  double quiet_limit = 0;                // seconds that it may issue no operation; 0: any number
};

struct RerunResult {
  session::Pass pass;
  std::vector<session::Process> processes;
  std::optional<session::Races> races;
  bool interrupted = false;
  bool dump_asked = false;  // some process has taken the request for a dump
};

// Adds the pass's folder to the session; `session` is read, and gets notes on what could not be.
base::Result<RerunResult> rerun(const RerunSpec& spec, session::Session& session, session::SessionWriter& writer,
                                launch::SignalRelay& relay, RerunListener& listener);

}  // namespace cudadiag::supervise
