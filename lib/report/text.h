// The report for a terminal: at most 22 lines a failure unless verbose, colour only when asked for. Whatever
// the target could have put into a name is made harmless before it is printed.
#pragma once

#include <string>

#include "report/report.h"

namespace cudadiag::report {

enum class Verbosity { quiet, normal, verbose };  // one line; 22 lines; everything

struct TextOptions {
  Verbosity verbosity = Verbosity::normal;
  bool colour = false;
  int columns = 100;
};

// Empty when there is nothing to say: no finding, and no verbosity that asks for the notes.
std::string write_text(const Report& report, const TextOptions& options);

}  // namespace cudadiag::report
