// Reads evidence of a failure on the GPU: core dumps, printed assertions, and the output of NVIDIA's tools. Unknown
// fields are empty.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evidence/tool_text.h"
#include "session/session.h"

namespace cudadiag::symbolize {

// Another tool's result, as text for the report.
struct ToolWords {
  std::string outcome;                 // the result in a few words
  std::vector<std::string> sentences;  // differences first
  bool in_doubt = false;               // the tool disagrees, or it failed
};

// A rerun under compute-sanitizer.
struct SanitizerResult {
  std::vector<std::string> kernels;  // mangled names of the kernels that it checked
  evidence::SanitizerLog log;
  std::string failed;  // how the tool failed without a result, such as "signal 11"; otherwise empty
};

// The assertions that a rerun printed.
struct Printed {
  std::string pass;  // folder of the pass
  std::vector<evidence::Assertion> assertions;
};

struct ToolResults {
  bool device_pass = false;  // a device pass ran, or the first run left a core dump
  // Failures from core dumps of the first run's processes.
  std::map<const session::Process*, evidence::DumpedFailure> of_first_run;
  // The kernels that ran in processes of the first run when a dump was requested: where most of their threads were.
  std::map<const session::Process*, std::vector<evidence::DumpedFailure>> running_in_first_run;
  std::string dump;         // the core dump that was read; empty if none was written
  bool unfinished = false;  // the driver printed that it began a dump, but not that it finished
  std::string unreadable;   // a sentence that says why the dump contains no result
  std::string cut_short;    // why the pass was ended early; otherwise empty
  std::optional<evidence::DumpedFailure> failure;
  std::string code;                              // nvdisasm's text of the failing kernel; empty if unknown
  std::vector<evidence::DumpedFailure> running;  // as above, in a rerun
  std::optional<ToolWords> debugger;             // cuda-gdb's result for `dump`
  std::optional<SanitizerResult> sanitizer;      // from the last sanitize pass
  std::vector<Printed> printed;                  // from the device pass, then from the other passes, latest first
};

inline constexpr std::size_t kDebuggerTextKept = std::size_t{1} << 20;

// Reads the core dumps of the first run or, if they show no failure, the last device pass of `session`. Also reads the
// output of the other reruns.
ToolResults tool_results(const session::Session& session);

// Returns why an external program has no result: "time limit", "signal 6", "status 1".
std::string how_it_failed(const session::ProcessEnd& end, const std::string& cut_short);

}  // namespace cudadiag::symbolize
