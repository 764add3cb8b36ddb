// Whether a run left traces among the user's files: a rerun would leave them twice.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace cudadiag::launch {

struct FileSearch {
  std::filesystem::path folder;
  std::int64_t since_nanoseconds = 0;         // of the epoch
  std::vector<std::filesystem::path> except;  // folders and files that are not looked at
  std::size_t most_entries = 50'000;          // a larger folder is seen in part
};

struct FileChanges {
  std::optional<std::filesystem::path> first;
  bool whole = true;  // there is no other, or the first is enough
};

// Whether a file below the folder was written after that time. Left out are our own standard output and error,
// sessions, Python's and version control's caches, other file systems, and what another process still holds open for
// writing: the reader of our output that keeps it, another program's log.
FileChanges changed_files(const FileSearch& search);

}  // namespace cudadiag::launch
