// Evidence from the GPU itself, from reruns: the GPU core dump of the device pass, and the assertions that a rerun
// printed. Names are demangled; unknown fields are empty.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evidence/testimony.h"
#include "evidence/tools/assertion_text.h"
#include "evidence/tools/sanitizer_text.h"
#include "session/session.h"

namespace cudadiag::symbolize {

struct DeviceLine {
  std::string function, file;
  std::uint32_t line = 0;
};

// The failure that a GPU core dump was written for.
struct DeviceFailure {
  using Dim3 = std::array<std::uint32_t, 3>;

  std::string exception;              // "Warp Assert"
  bool assertion = false;             // the exception of a failed assertion
  std::string message;                // the driver's own message, if there is one
  std::string function;               // that contains the instruction; empty if its code is not in the dump
  std::uint64_t offset = 0;           // of the instruction in the function
  std::vector<DeviceLine> lines;      // innermost first, through inlined functions to the function; empty if unknown
  std::optional<Dim3> block, thread;  // the first that failed; unknown once its warp has exited
  std::optional<std::uint64_t> threads, blocks;  // number that failed
  std::string kernel, mangled;                   // empty if unknown
  std::optional<Dim3> grid, block_dim;
  // The dump's data on the failed threads, and nvdisasm's text of their kernel; null and empty if unknown.
  std::shared_ptr<const evidence::DumpedFailure> dumped;
  std::string code;
  std::optional<std::uint64_t> grid_id;  // opaque; on tested drivers the launch's number in its process
};

// Describes in sentences what another tool says about the failure.
struct WitnessWords {
  std::string outcome;                 // in a few words
  std::vector<std::string> sentences;  // differences first
  bool in_doubt = false;               // it differs, or failed
};

// A rerun under compute-sanitizer.
struct SanitizerTestimony {
  std::vector<std::string> kernels;  // mangled names of the kernels that it checked
  evidence::SanitizerLog log;
  std::string failed;  // how it ended, if it failed and found nothing: "signal 11"
};

// The assertions that a rerun printed.
struct Printed {
  std::string pass;  // its folder
  std::vector<evidence::Assertion> assertions;
};

struct DeviceTestimony {
  bool device_pass = false;  // a device pass exists
  // Dumps by processes of the first run itself, whose recording the session contains. The completely read dump is among
  // them.
  std::map<std::uint32_t, DeviceFailure> of_first_run;
  std::string dump;         // the core dump that was read; empty if none was written
  bool unfinished = false;  // the driver reported that it began a dump, but not that it finished
  std::string unreadable;   // a sentence that says why the dump shows nothing
  std::string cut_short;    // why the pass was ended early
  std::optional<DeviceFailure> failure;
  std::vector<DeviceFailure> running;           // in a requested dump without exceptions: where most threads were
  std::optional<WitnessWords> debugger;         // on that dump
  std::optional<SanitizerTestimony> sanitizer;  // of the last sanitize pass
  std::vector<Printed> printed;                 // the device pass first, then the latest first
};

inline constexpr std::size_t kDebuggerTextKept = std::size_t{1} << 20;

// Reads the last device pass of `session` or, if there is none, the first run's own dump. Also reads its other reruns.
DeviceTestimony device_testimony(const session::Session& session);

}  // namespace cudadiag::symbolize
