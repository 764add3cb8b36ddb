// The source itself, as it is on disk now.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::symbolize {

struct SourceLine {
  int number;
  std::string text;  // control characters made harmless, tabs expanded, at most 200 bytes
};

// `line` of `file` and up to `neighbours` lines on each side; empty if the file cannot be read or has no such line.
std::vector<SourceLine> source_excerpt(const std::string& file, int line, int neighbours);

// While there is one with `withhold`, this thread reads no source: source_excerpt() is empty for every file. For sessions
// of somebody else, who could have any file of the reader's quoted.
class WithheldSources {
 public:
  explicit WithheldSources(bool withhold);
  ~WithheldSources();
  WithheldSources(const WithheldSources&) = delete;
  WithheldSources& operator=(const WithheldSources&) = delete;

 private:
  bool before_;
};

// A line of code without the comment at its end, which begins with `mark` ("#", "//"). A mark inside a string is not
// one.
std::string without_comment(std::string_view line, std::string_view mark);

}  // namespace cudadiag::symbolize
