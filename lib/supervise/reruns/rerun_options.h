// The user's options for reruns, and the plan of one sequence of reruns.
#pragma once

#include <cstdint>
#include <optional>

#include "analyse/rerun_window.h"
#include "launch/input.h"

namespace cudadiag::supervise {

struct RerunOptions {
  unsigned repeat = 1;                  // give up after this many reruns without a failure
  bool show = false;                    // show their output on standard error
  bool device = true;                   // run a pass for a GPU core dump
  bool hang_dump = false;               // run a pass for a GPU core dump of a hang
  bool values = true;                   // read the arguments of the suspects
  bool origin = false;                  // trace bad values in one pass, whatever the failure is
  bool save_inputs = false;             // save the failing call with its tensors, and a script that repeats it
  bool save_launch = false;             // save the failing launch with its memory, to repeat it on its own
  unsigned save_limit = 2048;           // MiB that a saved call or launch may take
  bool keep_core = false;               // keep the dump, however large it is
  bool cross_check = false;             // run cuda-gdb on the dump
  bool sanitize = false;                // run a pass under compute-sanitizer
  std::optional<unsigned> write_limit;  // MiB that an isolated rerun may write, all of which is thrown away; 0: nothing
  double patience = 5;                  // how many seconds to wait for one operation
  std::optional<double> time_limit;     // seconds for one rerun; the default depends on the first run

  // How many bytes of the failing call's tensors may be saved; 0: save none.
  std::uint64_t saved_bytes() const { return save_inputs ? std::uint64_t{save_limit} << 20 : 0; }
};

struct RerunPlan {
  RerunOptions options;
  std::optional<analyse::Reach> reach{};         // a fixed reach; by default, it grows
  std::optional<analyse::RerunWindow> window{};  // a window that the user chose
  const launch::Input* input = nullptr;          // null for /dev/null
  bool isolated = false;                         // the reruns are isolated, so they can change nothing
};

}  // namespace cudadiag::supervise
