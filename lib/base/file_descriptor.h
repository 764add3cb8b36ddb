// Opens, reads and writes files through file descriptors.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

// Opens a regular file for reading, even if others may have replaced it by a link or a pipe. Does not follow a link at the end of the path, and does not wait for the writer of
// a pipe. If the result is invalid, errno says why; errno is 0 if the path is something else than a regular file.
FileDescriptor open_plain(const std::filesystem::path& path);

std::uint64_t size_of(const FileDescriptor& file);

// Returns at most the first `most` bytes of a regular file; "" if it cannot be opened.
std::string read_start(const std::filesystem::path& path, std::uint64_t most);

// Writes text to files whose paths users chose. Such a path can be a pipe that no process reads.
enum class Earlier { replaced, kept };  // what happens to the text that a regular file contains

struct WriteFailure {
  int error;  // errno
  std::string why;
};

// Writes all of `text` to a regular file, a pipe or a character device, and creates the file if it is missing. Refuses
// other kinds of files. Never waits for a pipe to be opened for reading, and gives up if its reader takes nothing for
// ten seconds. Returns nullopt on success.
std::optional<WriteFailure> write_output_file(const std::string& path, std::string_view text, Earlier earlier);

}  // namespace cudadiag::base
