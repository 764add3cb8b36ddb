// The user's options for reruns, and the aim of one sequence of reruns.
#pragma once

#include <cstdint>
#include <optional>

#include "analyse/reruns/rerun_window.h"
#include "launch/input.h"

namespace cudadiag::supervise {

struct RerunOptions {
  unsigned repeat = 1;               // reruns that may pass without a failure before the search ends
  bool show = false;                 // their output, on standard error
  bool device = true;                // a pass for a GPU core dump
  bool hang_dump = false;            // likewise of a hang
  bool values = true;                // what the suspects' arguments were
  bool origin = false;               // a pass that traces bad values, whatever the failure is
  bool save_inputs = false;          // the failing call with its tensors, and a script that makes it again
  bool save_launch = false;          // the failing launch with its memory, to be made again alone
  unsigned save_limit = 2048;        // MiB that either may have
  bool keep_core = false;            // the dump, however large
  bool cross_check = false;          // cuda-gdb over the dump
  bool sanitize = false;             // a pass under compute-sanitizer
  double patience = 5;               // seconds that an operation may take while it is waited for
  std::optional<double> time_limit;  // seconds for one rerun; by default by the length of the first run

  // Bytes that the failing call's tensors may have to be saved; 0: they are not.
  std::uint64_t saved_bytes() const { return save_inputs ? std::uint64_t{save_limit} << 20 : 0; }
};

struct RerunPlan {
  RerunOptions options;
  std::optional<analyse::Reach> reach{};         // only this far; by default further and further
  std::optional<analyse::RerunWindow> window{};  // set by hand instead
  const launch::Input* input = nullptr;          // null: /dev/null
  bool isolated = false;                         // the reruns can change nothing
};

}  // namespace cudadiag::supervise
