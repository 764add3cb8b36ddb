// Source files: the text of their lines, and when they were written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"

namespace cudadiag::symbolize {

// Returns seconds since the epoch.
std::optional<double> time_written(const std::string& file);

// Both functions return false if the file is missing, or if the process's time is unknown.
bool written_since_start(const std::string& file, const session::ProcessRecord& record);
// A process counts as ended at the time of its latest record.
bool written_since_end(const std::string& file, const session::ProcessRecord& record);

// Resolves `file` in the process's working directory, because Python records a script's name as the user typed it.
std::string absolute_file(const std::string& file, const session::ProcessRecord& record);

// Returns the recorded Python files and modules that were written after the run. For each file, the run ends when the
// last process that used the file failed or, without a failure, wrote its latest record. Returns names as recorded.
std::vector<std::string> rewritten_files(const session::Session& session);

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

// Makes text from users' files and programs safe to print. Returns valid UTF-8 of at most `limit` bytes, cut between
// characters, with tabs expanded to multiples of four columns. Replaces unsafe characters with '?': control characters
// (C0, DEL, C1), zero-width characters, direction marks, line separators, and bytes that are not UTF-8.
std::string plain_text(std::string_view text, std::size_t limit);

}  // namespace cudadiag::symbolize
