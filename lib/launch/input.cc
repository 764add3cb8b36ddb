#include "launch/input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "launch/standard_descriptors.h"

namespace cudadiag::launch {

using base::FileDescriptor;
namespace {

int bytes_in(int pipe) {
  int bytes = 0;
  return ::ioctl(pipe, FIONREAD, &bytes) == 0 ? bytes : 0;
}

}  // namespace

Input::Input(int number) : number_(number) {
  struct stat status {};
  if (was_closed(number) || ::fstat(number, &status) != 0) return;
  if (S_ISREG(status.st_mode)) {
    kind_ = Kind::file;
    offset_ = ::lseek(number, 0, SEEK_CUR);
  } else if (::isatty(number) != 0) {
    kind_ = Kind::terminal;
  } else if (S_ISCHR(status.st_mode)) {
    kind_ = Kind::device;
  } else {
    kind_ = S_ISFIFO(status.st_mode) ? Kind::pipe : Kind::other;
    had_something_ = has_something();
    had_writer_ = !is_at_end();
    if (kind_ == Kind::pipe && had_something_) copy_pipe();
  }
}

// Returns true if no process has the write end open.
bool Input::is_at_end() const {
  pollfd source{number_, POLLIN, 0};
  return ::poll(&source, 1, 0) > 0 && (source.revents & POLLHUP) != 0;
}

bool Input::has_something() const {
  pollfd source{number_, POLLIN, 0};
  return ::poll(&source, 1, 0) > 0;
}

// Copies the pipe's contents with tee(2), which does not consume them. Copies nothing while the pipe has a writer,
// because the copy could be incomplete.
void Input::copy_pipe() {
  pollfd source{number_, POLLIN, 0};
  if (::poll(&source, 1, 0) <= 0 || (source.revents & POLLHUP) == 0) return;
  std::array<int, 2> copy{};
  if (::pipe2(copy.data(), O_CLOEXEC) != 0) return;
  base::FileDescriptor from(copy[0]);
  const base::FileDescriptor to(copy[1]);
  const int room = ::fcntl(number_, F_GETPIPE_SZ);
  if (room > 0) ::fcntl(to.get(), F_SETPIPE_SZ, room);
  if (::fcntl(to.get(), F_GETPIPE_SZ) < room) return;
  // For an empty pipe without a writer, tee() returns 0 rather than an error.
  if (::tee(number_, to.get(), static_cast<std::size_t>(room), SPLICE_F_NONBLOCK) >= 0) copied_ = std::move(from);
}

std::string Input::obstacle() const {
  if (kind_ == Kind::terminal) return "its input is a terminal";
  if (!is_stream() || copied_.valid()) return "";
  if (gave_something()) return "its input is a pipe that cannot be read again";
  // The target may have read data that a writer added while the target ran. The pipe shows no trace of such data
  // afterwards.
  if (had_writer_) return "its input is a pipe that another process could write to";
  return "";
}

bool Input::gave_something() const { return had_something_ || has_something(); }

bool Input::was_read() const {
  if (kind_ == Kind::file) return ::lseek(number_, 0, SEEK_CUR) != offset_;
  if (copied_.valid()) return bytes_in(number_) < bytes_in(copied_.get());
  return is_stream() && gave_something();
}

base::FileDescriptor Input::again() const {
  const std::string path = "/proc/self/fd/" + std::to_string(kind_ == Kind::pipe ? copied_.get() : number_);
  base::FileDescriptor opened;
  if (kind_ == Kind::file || kind_ == Kind::device)
    opened = base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (kind_ == Kind::file && opened.valid()) ::lseek(opened.get(), offset_, SEEK_SET);
  if (kind_ == Kind::pipe && copied_.valid()) {
    // Duplicates the copy for each rerun, because reading a pipe consumes its contents.
    std::array<int, 2> copy{};
    if (::pipe2(copy.data(), O_CLOEXEC) == 0) {
      opened = base::FileDescriptor(copy[0]);
      const base::FileDescriptor to(copy[1]);
      const int room = ::fcntl(copied_.get(), F_GETPIPE_SZ);
      ::fcntl(to.get(), F_SETPIPE_SZ, room);
      ::tee(copied_.get(), to.get(), static_cast<std::size_t>(room), SPLICE_F_NONBLOCK);
    }
  }
  return opened.valid() ? std::move(opened) : base::FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace cudadiag::launch
