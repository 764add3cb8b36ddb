// Files and folders by their descriptors, so that nobody can replace them meanwhile.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cudadiag::base {

// Owns a file descriptor, and closes it when destroyed.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// Retries interrupted and partial writes. On failure, returns false with errno set.
inline bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Returns `size` bytes at offset `from`, or fewer if the file ends early or a read fails. Does not move the offset.
inline std::string read_part(int file, std::uint64_t from, std::uint64_t size) {
  std::string text(size, '\0');
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t count = ::pread(file, text.data() + done, size - done, static_cast<off_t>(from + done));
    if (count <= 0) break;
    done += static_cast<std::uint64_t>(count);
  }
  text.resize(done);
  return text;
}

// Opens a regular file for reading, even if others may have replaced it by a link or a pipe. Does not follow a link at
// the end of the path, and does not wait for the writer of a pipe. If the result is invalid, errno says why; errno is 0
// if the path is something else than a regular file.
FileDescriptor open_plain(const std::filesystem::path& path);

std::uint64_t size_of(const FileDescriptor& file);

// Returns at most the first `most` bytes of a regular file; "" if it cannot be opened.
std::string read_start(const std::filesystem::path& path, std::uint64_t most);

// Returns whether `error`, an errno, means that the disk is full or that a quota or size limit was reached.
inline bool is_for_lack_of_room(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

enum class Earlier { replaced, kept };  // what happens to the text that a regular file contains

struct WriteFailure {
  int error;  // errno
  std::string why;
};

// Writes all of `text` to a path that the user chose: a regular file, which is created if it is missing, a pipe, or a
// character device. Refuses other kinds of files. Never waits for a pipe to be opened for reading, and gives up if its
// reader takes nothing for ten seconds. Returns nullopt on success.
std::optional<WriteFailure> write_output_file(const std::string& path, std::string_view text, Earlier earlier);

// ---- folders
//
// These functions follow no links, because the folders may contain anything, and other users may be able to replace any
// part of a path by a link. Whatever is removed or replaced here is named relative to an open folder.

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

// Removes everything in the folder, even what its owner may not write to, and the folder itself, wherever it is now.
// The folder may have been moved, and any part of its former path may have been replaced.
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
