// Whether a run left traces among the user's files: a rerun would leave them twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cudadiag::launch {

// A larger folder is searched only in part, which bounds the time.
inline constexpr std::size_t kMostEntries = 50'000;

// A folder as it is when a command is started in it.
struct FolderBefore {
  // The time, in nanoseconds of the epoch, that local file systems give to what is written from now on; what was
  // written before is older.
  std::int64_t file_time = 0;
  std::vector<std::string> names;  // of its own entries, not of those below
};

// Waits for the next tick of the file systems' clock, which is up to 10 ms behind the precise one.
FolderBefore look_at_folder(const std::filesystem::path& folder);

struct FileSearch {
  std::filesystem::path folder;
  FolderBefore before;
  std::vector<std::filesystem::path> except;  // folders and files that are not looked at
  std::size_t most_entries = kMostEntries;
};

struct FileChanges {
  std::optional<std::filesystem::path> first;
  bool whole = true;  // there is no other, or the first is enough
};

// Whether a file below the folder was written or moved since then, a folder or a link made, or an entry of any folder
// there removed. Links to folders, and other file systems below, are searched too. Left out are our own standard output
// and error, sessions, Python's and other caches, and what another process still holds open for writing: the reader of
// our output that keeps it, another program's log. The run's own processes are gone by then.
FileChanges changed_files(const FileSearch& search);

}  // namespace cudadiag::launch
