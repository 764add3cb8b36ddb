// Opens, lists, fills and removes folders without following links, because the folders may contain anything, and other
// users may be able to replace any part of a path by a link. Whatever is removed or replaced here is named relative to
// an open folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace cudadiag::base {

// Returns an invalid descriptor, with errno set, if the folder is missing, is a link or is not a folder. `parent` is a
// descriptor, or AT_FDCWD.
FileDescriptor open_plain_folder(int parent, const char* name);

// Returns the sorted names of the folder's entries, without "." and "..".
std::vector<std::string> names_in(const FileDescriptor& folder);

// Returns names_in() as paths; empty if `folder` is a link.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

// Creates a file that only this user can read. Fails with EEXIST if anything with this name exists, even a link.
FileDescriptor create_in(const FileDescriptor& folder, const std::string& name);

// Writes a draft next to `name` in `folder` and renames it. A reader therefore sees either the old file or the new one.
// Returns 0 on success, otherwise errno.
int replace_file(const FileDescriptor& folder, const std::string& name, const std::function<bool(int)>& write);

// Returns whether the entry `name` of `parent` is the open file or folder itself, not a link to it.
bool is_entry(const FileDescriptor& opened, const FileDescriptor& parent, const std::string& name);

// Removes everything in the folder, even what its owner may not write to, and the folder itself, wherever it is now. The
// folder may have been moved, and any part of its former path may have been replaced.
void remove_folder(const FileDescriptor& folder);

// Removes the entry `name` of the folder, and everything below it.
void remove_from(const FileDescriptor& folder, const std::string& name);
// Removes the file if `path` still leads to it. `file` is the open file.
void remove_file(const FileDescriptor& file, const std::filesystem::path& path);

// Returns a path of the open folder for functions that accept only paths. It leads to the folder itself, even if the
// folder has been moved. It is valid in this process while `folder` is open.
std::filesystem::path path_through(const FileDescriptor& folder);

// Owns a private temporary folder, and removes it with its contents when destroyed.
class ScratchFolder {
 public:
  // Creates a folder such as /tmp/cudadiag-PURPOSE-Zk3u9f.
  explicit ScratchFolder(const std::string& purpose);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // Empty if no folder could be created.
  const std::filesystem::path& path() const { return path_; }
  // Removes an entry of the folder, with everything below it.
  void remove(const std::string& name) const;

 private:
  std::filesystem::path path_;
  FileDescriptor folder_;
};

}  // namespace cudadiag::base
