// The source itself, as it is on disk now.
#pragma once

#include <string>
#include <vector>

namespace cudadiag::symbolize {

struct SourceLine {
  int number;
  std::string text;  // control characters made harmless, tabs expanded, at most 200 bytes
};

// `line` of `file` and up to `neighbours` lines on each side; empty if the file cannot be read or has no such line.
std::vector<SourceLine> source_excerpt(const std::string& file, int line, int neighbours);

}  // namespace cudadiag::symbolize
