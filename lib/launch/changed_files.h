// Whether a run left traces among the user's files: a rerun would leave them twice.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace cudadiag::launch {

// The time, in nanoseconds of the epoch, that local file systems give to what is written from now on; what was written
// before is older. Waits for the next tick of their clock, which is up to 10 ms behind the precise one.
std::int64_t next_file_time();

struct FileSearch {
  std::filesystem::path folder;
  std::int64_t since_nanoseconds = 0;         // by the clock of next_file_time()
  std::vector<std::filesystem::path> except;  // folders and files that are not looked at
  std::size_t most_entries = 50'000;          // a larger folder is seen in part
};

struct FileChanges {
  std::optional<std::filesystem::path> first;
  bool whole = true;  // there is no other, or the first is enough
};

// Whether a file below the folder was written since that time, or an entry of it or of a folder below was made, removed
// or renamed: then `first` is the file or that folder. Left out are our own standard output and error, sessions,
// Python's and version control's caches, other file systems, and what another process still holds open for writing: the
// reader of our output that keeps it, another program's log. A folder that such a thing was made in, or that everybody
// may write to (/tmp), is judged by its files alone.
FileChanges changed_files(const FileSearch& search);

}  // namespace cudadiag::launch
