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

// A file below the folder that was written after that time. Left out are our own standard output and error, Python's
// and version control's caches, other file systems, and what another process still holds open for writing: the reader
// of our output that keeps it, another program's log. Nothing: none was found.
std::optional<std::filesystem::path> changed_file(const FileSearch& search);

}  // namespace cudadiag::launch
