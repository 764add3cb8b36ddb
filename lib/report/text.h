// The report for a terminal: at most 22 lines of 80 columns a failure unless verbose, colour only when asked for.
// Whatever the target could have put into a name is made harmless before it is printed.
#pragma once

#include <cstddef>
#include <string>

#include "diagnose/diagnosis.h"

namespace cudadiag::report {

enum class Verbosity { quiet, normal, verbose };  // one line; 22 lines; everything

struct TextOptions {
  Verbosity verbosity = Verbosity::normal;
  bool colour = false;
  int columns = 100;
  bool say_clean = false;     // one sentence if there is no finding, for `cudadiag report`
  std::size_t lines = 22;     // at most, unless verbose; below 80 columns as many more as the text needs there
  bool suggest_rerun = true;  // among the next commands, if there was none yet; false: it is about to be made
};

// Empty when there is no finding, unless `say_clean` or `verbose` asks for more.
std::string write_text(const diagnose::Diagnosis& report, const TextOptions& options);

}  // namespace cudadiag::report
