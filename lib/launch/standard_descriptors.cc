#include "launch/standard_descriptors.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <initializer_list>

namespace cudadiag::launch {

void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // A seccomp filter may make fcntl() fail with an error other than EBADF, although the descriptor is open.
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // Opens "/" rather than /dev/null, because /dev/null may be missing, and would silently discard error messages.
    // open() returns the lowest free number.
    const int taken = ::open("/", O_PATH | O_CLOEXEC);
    if (taken > descriptor) ::close(taken);
  }
}

void close_all_but(std::span<const int> kept) {
  unsigned first = STDERR_FILENO + 1;
  for (unsigned next = 0; next != ~0u; first = next + 1) {
    next = ~0u;
    for (const int number : kept) {
      const auto each = static_cast<unsigned>(number);
      if (number >= 0 && each >= first) next = std::min(next, each);
    }
    if (next == first || ::syscall(SYS_close_range, first, next - 1, 0) == 0) continue;  // Linux 5.9
    constexpr unsigned kMost = 4096;
    for (unsigned number = first; number < std::min(next, kMost); ++number) ::close(static_cast<int>(number));
  }
}

bool was_closed(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags < 0 ? errno == EBADF : (flags & O_PATH) != 0;
}

using base::FileDescriptor;
namespace {

int bytes_in(int pipe) {
  int bytes = 0;
  return ::ioctl(pipe, FIONREAD, &bytes) == 0 ? bytes : 0;
}

// Returns true if the pipe is a FIFO in a file system, which further programs can open.
bool has_name(int pipe) {
  struct statfs status {};
  return ::fstatfs(pipe, &status) != 0 || status.f_type != PIPEFS_MAGIC;
}

// Returns a new pipe with the contents of `pipe`, which tee(2) does not consume. Returns an invalid descriptor if they
// do not all fit: a user with many pipes gets only small ones.
FileDescriptor copy_of(int pipe) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  FileDescriptor from(ends[0]);
  const FileDescriptor to(ends[1]);
  const int room = ::fcntl(pipe, F_GETPIPE_SZ);
  if (room > 0) ::fcntl(to.get(), F_SETPIPE_SZ, room);
  // For an empty pipe without a writer, tee() returns 0 rather than an error.
  if (::tee(pipe, to.get(), static_cast<std::size_t>(room), SPLICE_F_NONBLOCK) < 0) return {};
  return bytes_in(from.get()) == bytes_in(pipe) ? std::move(from) : FileDescriptor();
}

// Linux changes the time of a terminal's last read at most once in eight seconds. Sets it back, so that the next read
// shows. Returns the time that is then set. Only the terminal's owner can change it, so some reads may remain unknown.
time_t set_back(int terminal, time_t last_read) {
  constexpr time_t kPeriod = 8;
  const time_t now = ::time(nullptr), earlier = now - 2 * kPeriod;
  if (last_read / kPeriod < now / kPeriod) return last_read;
  const std::array<timespec, 2> times = {timespec{earlier, 0}, timespec{0, UTIME_OMIT}};
  return ::futimens(terminal, times.data()) == 0 ? earlier : last_read;
}

}  // namespace

bool in_foreground(int descriptor) { return ::tcgetpgrp(descriptor) == ::getpgrp(); }

Input::Input(int number) : number_(number) {
  struct stat status {};
  if (was_closed(number) || ::fstat(number, &status) != 0) return;
  if (S_ISREG(status.st_mode)) {
    kind_ = Kind::file;
    offset_ = ::lseek(number, 0, SEEK_CUR);
  } else if (::isatty(number) != 0) {
    kind_ = Kind::terminal;
    // In the background, the shell reads what is typed.
    if (in_foreground(number)) last_read_ = set_back(number, status.st_atim.tv_sec);
  } else if (S_ISCHR(status.st_mode)) {
    kind_ = Kind::device;
  } else {
    kind_ = S_ISFIFO(status.st_mode) ? Kind::pipe : Kind::other;
    had_something_ = has_something();
    had_writer_ = !is_at_end();
    // While the pipe has a writer, a copy could be incomplete. The next writer of a FIFO may be yet to come.
    const bool complete = had_something_ && !had_writer_ && !has_name(number);
    if (kind_ == Kind::pipe && complete) copied_ = copy_of(number);
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

std::string Input::obstacle() const {
  if (kind_ == Kind::terminal) return was_read() ? "it read what was typed at the terminal" : "its input is a terminal";
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
  if (kind_ == Kind::terminal) {
    struct stat status {};
    return last_read_ != 0 && in_foreground(number_) && ::fstat(number_, &status) == 0 &&
           status.st_atim.tv_sec != last_read_;
  }
  if (copied_.valid()) return bytes_in(number_) < bytes_in(copied_.get());
  return is_stream() && gave_something();
}

FileDescriptor Input::again() const {
  // Reading a pipe consumes its contents, so each rerun gets a copy of its own.
  if (copied_.valid()) return copy_of(copied_.get());
  FileDescriptor opened;
  if (kind_ == Kind::file || kind_ == Kind::device) {
    const std::string path = "/proc/self/fd/" + std::to_string(number_);
    opened = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (kind_ == Kind::file) {
    if (opened.valid()) ::lseek(opened.get(), offset_, SEEK_SET);
    return opened;
  }
  return opened.valid() ? std::move(opened) : FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace cudadiag::launch
