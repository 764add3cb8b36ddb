// Writes the report for a terminal. Without -v, each failure takes at most 22 lines of 80 columns. Uses colour only on
// request. Text from the target is made printable.
#pragma once

#include <cstddef>
#include <string>

#include "diagnose/diagnosis.h"

namespace cudadiag::report {

enum class Verbosity { quiet, normal, verbose };  // quiet: a line for each finding; normal: 22 lines

struct TextOptions {
  Verbosity verbosity = Verbosity::normal;
  bool colour = false;
  int columns = 100;
  bool say_clean = false;     // print one sentence if nothing was found, for `cudadiag report`
  std::size_t lines = 22;     // most lines, unless verbose; terminals narrower than 80 columns get more
  bool suggest_rerun = true;  // suggest a first rerun; false if one is about to start
  bool isolates = false;      // this machine can isolate reruns, so the first suggested rerun is isolated
  bool show_run = false;      // add a line with the time and command of the run, unless quiet
};

// If nothing was found, returns "" unless `say_clean` is set or the verbosity is `verbose`.
std::string write_text(const diagnose::Diagnosis& report, const TextOptions& options);

}  // namespace cudadiag::report
