#include "base/file_descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

namespace cudadiag::base {

FileDescriptor open_plain(const std::filesystem::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return {};
  if (S_ISREG(status.st_mode)) return file;
  errno = 0;
  return {};
}

std::uint64_t size_of(const FileDescriptor& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::string read_start(const std::filesystem::path& path, std::uint64_t most) {
  const FileDescriptor file = open_plain(path);
  return file.valid() ? read_part(file.get(), 0, std::min(most, size_of(file))) : "";
}

namespace {

bool is_pipe(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

// Returns whether the file is open and of a kind that can be written, with errno set otherwise.
bool is_writable(int file) {
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0) return false;
  if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) return true;
  return errno = EINVAL, false;
}

// Writes to a file that was opened with O_NONBLOCK. Gives up with errno ETIMEDOUT.
bool write_unless_stuck(int file, std::string_view text) {
  constexpr int kPatienceMs = 10'000;
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    if (written >= 0 || errno == EINTR) continue;
    pollfd writable{file, POLLOUT, 0};
    if (errno != EAGAIN) return false;
    if (::poll(&writable, 1, kPatienceMs) == 0) return errno = ETIMEDOUT, false;
  }
  return true;
}

}  // namespace

std::optional<WriteFailure> write_output_file(const std::string& path, std::string_view text, Earlier earlier) {
  const int text_before = earlier == Earlier::replaced ? O_TRUNC : O_APPEND;
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | text_before, 0666));
  if (is_writable(file.get()) && write_unless_stuck(file.get(), text)) return std::nullopt;
  const int error = errno;
  if (error == EINVAL) return WriteFailure{error, "it is not a regular file"};
  if (error == ETIMEDOUT) return WriteFailure{error, "its reader takes nothing"};
  // Opening a pipe without a reader, or a socket, fails with ENXIO.
  if (error == ENXIO) return WriteFailure{error, is_pipe(path) ? "no process reads it" : "it is not a regular file"};
  return WriteFailure{error, std::strerror(error)};
}

}  // namespace cudadiag::base
