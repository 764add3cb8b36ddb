// Evidence from the GPU itself, in reruns: the GPU core dump of the device pass, and the assertions that a rerun
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
  bool assertion = false;             // it is that of a failed assertion
  std::string message;                // the driver's own words, where it left any
  std::string function;               // that contains the instruction; empty: its code is not in the dump
  std::uint64_t offset = 0;           // of the instruction in it
  std::vector<DeviceLine> lines;      // innermost first, through what was inlined to the function; empty: not known
  std::optional<Dim3> block, thread;  // the first that failed; not known once its warp has exited
  std::optional<std::uint64_t> threads, blocks;  // how many failed
  std::string kernel, mangled;                   // empty: not known
  std::optional<Dim3> grid, block_dim;
  // The dump's own words for the threads that failed, and nvdisasm's text of their kernel; null, empty: not known.
  std::shared_ptr<const evidence::DumpedFailure> dumped;
  std::string code;
  std::optional<std::uint64_t> grid_id;  // opaque; the launch's number in its process on drivers that were looked at
};

// A foreign program's word, as sentences.
struct WitnessWords {
  std::string outcome;                 // in a word or two
  std::vector<std::string> sentences;  // what differs first
  bool in_doubt = false;               // it differs, or failed
};

// A rerun under compute-sanitizer.
struct SanitizerTestimony {
  std::vector<std::string> kernels;  // that it checked, mangled
  evidence::SanitizerLog log;
  std::string failed;  // how it ended, where that was not well and it found nothing: "signal 11"
};

// The assertions that a rerun printed.
struct Printed {
  std::string pass;  // its folder
  std::vector<evidence::Assertion> assertions;
};

struct DeviceTestimony {
  bool device_pass = false;  // there was one
  // Dumps of the first run itself, whose recording the session has, by process. The one that is read in full is among
  // them.
  std::map<std::uint32_t, DeviceFailure> of_first_run;
  std::string dump;         // the core dump that was read; empty: none was written
  bool unfinished = false;  // the driver said that it began to write one, and not that it was done
  std::string unreadable;   // why the dump shows nothing: a sentence
  std::string cut_short;    // why the pass was ended before its time
  std::optional<DeviceFailure> failure;
  std::vector<DeviceFailure> running;           // of a dump that was asked for: no exceptions, where most threads were
  std::optional<WitnessWords> debugger;         // on that dump
  std::optional<SanitizerTestimony> sanitizer;  // of the last such pass
  std::vector<Printed> printed;                 // the device pass first, then the latest first
};

inline constexpr std::size_t kDebuggerTextKept = std::size_t{1} << 20;

// From the last device pass of `session`, else from the first run's own dump, and from its other reruns.
DeviceTestimony device_testimony(const session::Session& session);

}  // namespace cudadiag::symbolize
