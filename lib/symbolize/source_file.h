// Reads lines of source code from disk.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::symbolize {

struct SourceLine {
  int number;
  std::string text;  // without control characters, tabs expanded, at most 200 bytes
};

// Returns `line` of `file` with up to `neighbours` lines on each side.
std::vector<SourceLine> source_excerpt(const std::string& file, int line, int neighbours);

// While an object created with `withhold` exists, source_excerpt() returns nothing on this thread. Use it for another
// user's session, which may name private files of the user who reads the report.
class WithheldSources {
 public:
  explicit WithheldSources(bool withhold);
  ~WithheldSources();
  WithheldSources(const WithheldSources&) = delete;
  WithheldSources& operator=(const WithheldSources&) = delete;

 private:
  bool before_;
};

// Removes a comment from the end of a line of code. A comment begins with `mark`: "#" or "//". Ignores marks inside
// strings.
std::string without_comment(std::string_view line, std::string_view mark);

// Makes text from users' files and programs safe to print.

// Returns valid UTF-8 of at most `limit` bytes, cut between characters, with tabs expanded to multiples of four
// columns. Replaces unsafe characters with '?': control characters (C0, DEL, C1), zero-width characters, direction
// marks, line separators, and bytes that are not UTF-8.
std::string plain_text(std::string_view text, std::size_t limit);

}  // namespace cudadiag::symbolize
