// The subcommands: each takes its parsed options and returns the exit status.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/rerun_window.h"
#include "launch/environment.h"
#include "report/text.h"
#include "session/session.h"
#include "supervise/recording.h"
#include "supervise/reruns/rerun_options.h"

namespace cudadiag::command {

// `automatic`: if nothing speaks against it (rerun_policy.h). `ask`: likewise, but not while a person sits at the terminal.
enum class RerunMode { ask, automatic, always, never };

struct RunOptions {
  supervise::RecordingOptions recording;
  report::Verbosity verbosity = report::Verbosity::normal;
  std::optional<int> error_exit_status;
  std::string json;                  // file to write the report to as well
  std::optional<double> hang_after;  // seconds without progress after which the run is ended
  RerunMode rerun_mode = RerunMode::ask;
  supervise::RerunOptions rerun;
  std::string arm;  // a session whose suspects this run waits for
  bool stop_on_race = false;
  bool tell_no_race = false;  // races were what this was about: that there is none is said too
};

struct BisectOptions {
  std::string session;
  std::vector<session::CodeRule> code_rules;
  std::optional<std::string> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  supervise::RerunOptions rerun;
  std::optional<analyse::Reach> reach;
  // One of these sets by hand what is waited for.
  std::optional<std::uint64_t> launch;
  std::string kernel, site;
  bool foreign = false;  // run the command of a session that may be somebody else's, too
};

enum class Format { text, json, sarif, html };

struct ReportOptions {
  std::string session;
  std::vector<session::CodeRule> code_rules;
  std::optional<std::string> output;
  report::Verbosity verbosity = report::Verbosity::normal;  // of text
  Format format = Format::text;
  std::optional<std::string> bundle;  // a file to pack the report into; empty: one named after the session
  bool bundle_inputs = false;         // the failing call with its tensors too
  bool foreign = false;               // quote sources of a session that may be somebody else's, too
};

struct StatusOptions {
  std::string session;
  std::optional<std::string> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  bool json = false;
};

struct RanksOptions {
  std::vector<std::string> sessions;  // or folders that hold some; empty: all in `output`
  bool foreign = false;               // as of ReportOptions
  std::optional<std::string> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  bool json = false;
};

struct TopOptions {
  std::string session;
  std::optional<std::string> output;
  std::optional<unsigned> count;  // looks
};

struct CoreOptions {
  std::string file;
  bool json = false;
  bool cross_check = false;  // ask NVIDIA's debugger too
};

int run(const RunOptions& options);
int bisect(const BisectOptions& options);
int report(const ReportOptions& options);
int status(const StatusOptions& options);
int ranks(const RanksOptions& options);
int top(const TopOptions& options);
int list(const std::optional<std::string>& output);
int core(const CoreOptions& options);
int dump(const std::string& session, const std::optional<std::string>& output);
int doctor(bool gpu);
int environment(const std::optional<std::string>& output, const launch::RecordOptions& record);

}  // namespace cudadiag::command
