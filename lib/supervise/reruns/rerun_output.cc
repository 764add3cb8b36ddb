#include "supervise/reruns/rerun_output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/file_descriptor.h"
#include "launch/optional_thread.h"

namespace cudadiag::supervise {

RerunOutput::RerunOutput(base::FileDescriptor file) : file_(std::move(file)) {
  std::array<int, 2> ends = {-1, -1};
  if (!file_.valid() || ::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  reader_ = base::FileDescriptor(ends[0]);
  base::FileDescriptor writer(ends[1]);
  ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
  finishing_ = base::FileDescriptor(::eventfd(0, EFD_CLOEXEC));
  if (finishing_.valid()) thread_ = launch::optional_thread([this] { copy(); });
  if (thread_.joinable()) writer_ = std::move(writer);
}

RerunOutput::~RerunOutput() { finish(); }

void RerunOutput::finish() {
  if (!thread_.joinable()) return;
  close_pipe();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(finishing_.get(), &one, sizeof one);
  thread_.join();
}

void RerunOutput::copy() {
  constexpr std::size_t kPiece = 64u << 10;
  std::string piece(kPiece, '\0');
  // A process that could not be killed may write for ever, so only what the pipe holds at the end is read.
  const int held = std::max(::fcntl(reader_.get(), F_GETPIPE_SZ), static_cast<int>(kPiece));
  for (int left = held; left > 0;) {
    std::array<pollfd, 2> sources = {{{reader_.get(), POLLIN, 0}, {finishing_.get(), POLLIN, 0}}};
    // Asked before reading: the pipe may have been filled again between an earlier read and the end.
    const bool finishes = ::poll(&sources[1], 1, 0) > 0;
    const ssize_t got = ::read(reader_.get(), piece.data(), piece.size());
    if (got > 0) {
      take(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
      if (finishes) left -= static_cast<int>(got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      break;
    } else if (::poll(sources.data(), sources.size(), -1) > 0 && sources[0].revents == 0) {
      break;
    }
  }
  store_end();
}

void RerunOutput::take(std::string_view piece) {
  const std::uint64_t room = kFirst - std::min(taken_, kFirst);
  taken_ += piece.size();
  write(piece.substr(0, room));
  piece.remove_prefix(std::min<std::uint64_t>(room, piece.size()));
  last_ += piece;
  if (last_.size() > 2 * kLast) last_.erase(0, last_.size() - kLast);
}

void RerunOutput::store_end() {
  if (last_.size() > kLast) last_.erase(0, last_.size() - kLast);
  const std::uint64_t kept = std::min(taken_, kFirst) + last_.size();
  if (taken_ > kept) write(fmt::format("\n[cudadiag: {} bytes more were written here and dropped]\n", taken_ - kept));
  write(last_);
}

// If the disk is full, the rest of the output is lost. The rerun must not wait for room.
void RerunOutput::write(std::string_view text) {
  if (!text.empty() && file_.valid() && !base::write_all(file_.get(), text)) file_ = base::FileDescriptor();
}

}  // namespace cudadiag::supervise
