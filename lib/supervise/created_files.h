// The names that the program's folders held when it began. A rerun should begin as the first run did: a program may
// refuse to start because its output folder exists, or resume from its checkpoint and take another way.
//
// Hidden from a rerun is only a name that was absent then, and that this user's first run created. Everything that the
// rerun may need and could not make again stays: caches, environments of Python, code and other binary files, and what
// the program had mapped.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::supervise {

class FolderSnapshot {
 public:
  // Lists the working folder, then the folders that the command names, with everything below them. Stops after 20,000
  // entries or 50 ms. In a folder that is not listed whole, nothing will be hidden. The same holds everywhere if more
  // than 1,000 names are new.
  static FolderSnapshot list(const std::vector<std::string>& command);

  struct Since {
    std::vector<std::filesystem::path> made;     // absent at the beginning; may be hidden
    std::vector<std::filesystem::path> changed;  // changed since, another file has the name now, or new but not hidden
    std::vector<std::filesystem::path> removed;  // nothing has the name now
    std::vector<std::filesystem::path> whole;    // folders in which nothing is hidden, because they are too large
  };
  // Compares with the folders as they are now. `session` is the recorded first run.
  Since since(const session::Session& session) const;

 private:
  struct Walk;
  void add_root(const std::filesystem::path& folder, Walk& walk);
  void add_folder(const std::filesystem::path& folder, Walk& walk);

  std::map<std::filesystem::path, std::map<std::string, ino_t>> folders_;  // by their paths without links: the entries
  std::vector<std::filesystem::path> absent_;                              // paths in the command that did not exist
  std::chrono::system_clock::time_point at_;
  std::vector<std::filesystem::path> unlisted_;  // of the folders above
};

// The text of session::kCreatedFile, which keeps the result for later reruns.
std::string written(const FolderSnapshot::Since& since);
// Reads that file. A name that was created again after the file counts as changed.
FolderSnapshot::Since read_since(const std::filesystem::path& file);

// Returns what a rerun saw otherwise than the first run did, and may have acted on. Files that are logs by their names
// do not count, because programs write them and seldom read them.
std::vector<std::filesystem::path> otherwise(const FolderSnapshot::Since& since);

// Returns a sentence for the report about what isolated reruns with overlays did not see, or saw changed; empty if
// there is nothing to say.
std::string note_on_beginning(const FolderSnapshot::Since& since, const std::filesystem::path& directory);

}  // namespace cudadiag::supervise
