#include "supervise/reruns/rerun_watch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/processes.h"
#include "session/ring_follower.h"
#include "session/session_folders.h"
#include "wire/rerun.h"

namespace cudadiag::supervise {
namespace {

using session::CutShort;
using std::chrono::milliseconds;

// How long a rerun may keep running after its failure, and how long after SIGTERM.
constexpr auto kCourtesy = milliseconds(1000);
// The same, if RerunWatch::has_told_all().
constexpr auto kShortCourtesy = milliseconds(100);
// How long to wait for killed processes. A process that uses a GPU may take seconds to exit, and the next rerun needs
// the GPU. At the time limit and after a signal, the exit status of the first run must be returned soon.
constexpr auto kUntilDead = milliseconds(10'000), kHurry = milliseconds(1500);
// The driver writes the state of an SM in about half a second, and a GPU has more than a hundred SMs.
constexpr auto kDumpStep = std::chrono::seconds(15), kLongestDump = std::chrono::seconds(300);
constexpr auto kLook = milliseconds(200);
// If more time than this passes between two checks, this program was stopped.
constexpr auto kShortestStop = std::chrono::seconds(2);

volatile sig_atomic_t stop_was_asked = 0;

extern "C" void on_terminal_stop(int) { stop_was_asked = 1; }

// Handles the terminal's stop signal, unless this program was started with that signal ignored.
class TerminalStop {
 public:
  TerminalStop() {
    launch::keep_for_targets(SIGTSTP);
    ::sigaction(SIGTSTP, nullptr, &before_);
    if ((before_.sa_flags & SA_SIGINFO) == 0 && before_.sa_handler == SIG_IGN) return;
    struct sigaction action {};
    action.sa_handler = on_terminal_stop;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGTSTP, &action, nullptr);
  }
  ~TerminalStop() { ::sigaction(SIGTSTP, &before_, nullptr); }
  TerminalStop(const TerminalStop&) = delete;
  TerminalStop& operator=(const TerminalStop&) = delete;

 private:
  struct sigaction before_ {};
};

std::uint64_t operations_of(const launch::Arena& arena) {
  std::uint64_t operations = 0;
  for (std::size_t area = 0; area < arena.claimed(); ++area) {
    operations += session::operations_so_far(launch::LiveArea(arena, area).bytes());
  }
  return operations;
}

// Returns whether a Python process has reported where a bad value came from, and its hook has stopped since. The hook
// stops when an operation on the GPU has failed.
bool has_traced(const std::filesystem::path& folder) {
  namespace delivery = wire::delivery;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != delivery::kSuffix) continue;
    const std::string lines = base::read_start(it->path(), delivery::kMostBytes);
    const std::size_t origin = lines.find(delivery::kOrigin);
    if (origin != lines.npos && lines.find(delivery::kStopped, origin) != lines.npos) return true;
  }
  return false;
}

milliseconds clamped_milliseconds(double seconds) {
  return milliseconds(std::max<std::int64_t>(0, static_cast<std::int64_t>(seconds * 1000)));
}

}  // namespace

RerunWatch::RerunWatch(launch::Supervised& target, launch::SignalRelay& relay, launch::Arena* arena,
                       const RerunSpec& spec, const std::filesystem::path& folder)
    : target_(target),
      relay_(relay),
      arena_(arena),
      spec_(spec),
      folder_(folder),
      limit_(Clock::now() + clamped_milliseconds(spec.time_limit)),
      dump_limit_(limit_ + kLongestDump) {
  if (spec.dumps && !spec.show) dump_.emplace(folder / session::kOutputFile);
  if (spec.dump_after) request_.emplace(folder, *spec.dump_after);
  if (arena != nullptr) watcher_.emplace(*arena, relay);
}

std::optional<session::CutShort> RerunWatch::wait(RerunListener& listener) {
  const TerminalStop stop;
  std::optional<CutShort> reason;
  bool ending = false;
  while (!target_.reap()) {
    leave_out_pause();
    if (stop_was_asked != 0) stop_with_terminal();
    look_at_operations();
    look_at_dump();
    if (!ending) {
      reason = reason_to_end();
      ending = reason || is_done();
      // Nobody sees what an isolated rerun still does, and it has had its time after the failure.
      if (ending) target_.end(failed_by_ && has_told_all() ? kShortCourtesy : kCourtesy, patience_after(reason));
    } else if (launch::ending_signals() > 1) {
      target_.end(milliseconds(0), milliseconds(0));
    } else if (relay_.interrupted()) {
      target_.end(kCourtesy, kHurry);
    }
    listener.runs(spec_, {arena_ == nullptr ? std::nullopt : std::optional(operations_), dump_bytes()});
    const bool soon = failed_by_ && !ending;
    const auto next = soon ? std::chrono::ceil<milliseconds>(*failed_by_ - Clock::now()) : kLook;
    relay_.wait(static_cast<int>(std::clamp(next, milliseconds(1), kLook).count()));
    relay_.take_signals();
  }
  listener.stops();
  return target_.asked_terminal() ? CutShort::asked_terminal : reason;
}

std::uint64_t RerunWatch::dump_bytes() const {
  const std::string name = spec_.dumps ? find_dump(folder_) : "";
  std::error_code error;
  const std::uintmax_t bytes = name.empty() ? 0 : std::filesystem::file_size(folder_ / name, error);
  return error ? 0 : bytes;
}

milliseconds RerunWatch::patience_after(const std::optional<CutShort>& reason) const {
  if (reason == CutShort::time_limit || reason == CutShort::interrupted) return kHurry;
  const auto until_limit = std::chrono::duration_cast<milliseconds>(limit_ - Clock::now());
  return std::clamp(until_limit, kHurry, kUntilDead);
}

std::optional<session::CutShort> RerunWatch::reason_to_end() {
  if (relay_.interrupted()) return CutShort::interrupted;
  if (request_ && !failed_by_ && request_->proceed()) failed_by_ = Clock::now() + kCourtesy;
  const bool fails = watcher_ && watcher_->take_freeze();
  if (!failed_by_ && (fails || spec_.kind == session::PassKind::origin)) {
    const bool told = has_told_all();
    if (fails || told) failed_by_ = Clock::now() + (told ? kShortCourtesy : kCourtesy);
  }
  if (failed_by_) return std::nullopt;
  const auto now = Clock::now();
  if (now > limit_) return CutShort::time_limit;
  // While the driver writes a dump, the program issues nothing. The file appears after the states of all SMs are read.
  const bool dumps = now < dumped_ + kDumpStep || dump_bytes() > 0;
  const bool quiet =
      arena_ != nullptr && spec_.quiet_limit > 0 && !dumps && now > moved_ + clamped_milliseconds(spec_.quiet_limit);
  return quiet ? std::optional(CutShort::issued_nothing) : std::nullopt;
}

bool RerunWatch::has_told_all() const {
  // Other processes may be about to fail too.
  if (!spec_.isolated || !spec_.one_process) return false;
  if (spec_.kind == session::PassKind::origin) return has_traced(folder_);
  // The driver may still be writing a dump.
  return spec_.kind == session::PassKind::confirm && !spec_.dumps;
}

bool RerunWatch::is_done() {
  if (!failed_by_ || Clock::now() < *failed_by_) return false;
  if (Clock::now() > limit_ || spec_.isolated) return true;
  // The rerun may write a file after its failure, as the first run did. Gives it time to finish writing.
  const std::uint64_t written = target_.bytes_written();
  if (written == written_) return true;
  written_ = written;
  failed_by_ = Clock::now() + kCourtesy;
  return false;
}

void RerunWatch::look_at_dump() {
  if (!dump_ || !dump_->moves()) return;
  dumped_ = Clock::now();
  limit_ = std::max(limit_, std::min(dumped_ + kDumpStep, dump_limit_));
}

void RerunWatch::look_at_operations() {
  if (arena_ == nullptr) return;
  const std::uint64_t operations = operations_of(*arena_);
  if (operations != operations_) moved_ = Clock::now();
  operations_ = operations;
}

void RerunWatch::stop_with_terminal() {
  stop_was_asked = 0;
  target_.halt();
  ::raise(SIGSTOP);
  target_.resume();
  leave_out_pause();
}

void RerunWatch::leave_out_pause() {
  const auto pause = Clock::now() - looked_;
  looked_ = Clock::now();
  if (pause < kShortestStop) return;
  limit_ += pause;
  moved_ += pause;
  if (failed_by_) *failed_by_ += pause;
}

namespace {

// Returns a descriptor for the same file. A terminal or pipe is opened again, because only the new descriptor may be
// nonblocking. A file is not, because its new descriptor would start at the beginning.
base::FileDescriptor descriptor_like(int number) {
  struct stat status {};
  if (::fstat(number, &status) == 0 && (S_ISFIFO(status.st_mode) || ::isatty(number) != 0)) {
    const std::string path = "/proc/self/fd/" + std::to_string(number);
    base::FileDescriptor again(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (again.valid()) return again;
  }
  return base::FileDescriptor(::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace

RerunOutput::RerunOutput(int number, milliseconds unread) : RerunOutput(descriptor_like(number), true, unread) {}

RerunOutput::RerunOutput(base::FileDescriptor file, bool shown, milliseconds unread)
    : file_(std::move(file)), unread_(unread), shown_(shown) {
  std::array<int, 2> ends = {-1, -1};
  if (!file_.valid() || ::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  reader_ = base::FileDescriptor(ends[0]);
  base::FileDescriptor writer(ends[1]);
  ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
  finishing_ = base::FileDescriptor(::eventfd(0, EFD_CLOEXEC));
  if (finishing_.valid()) thread_ = base::optional_thread([this] { copy(); });
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
  if (shown_) return show(piece);
  const std::uint64_t room = kFirst - std::min(taken_, kFirst);
  taken_ += piece.size();
  write(piece.substr(0, room));
  piece.remove_prefix(std::min<std::uint64_t>(room, piece.size()));
  last_ += piece;
  if (last_.size() > 2 * kLast) last_.erase(0, last_.size() - kLast);
}

// Waits until the text is read, but not for ever: once the rerun has ended, drops what nobody reads.
void RerunOutput::show(std::string_view text) {
  for (milliseconds patience = unread_; !text.empty() && file_.valid();) {
    std::array<pollfd, 2> sources = {{{file_.get(), POLLOUT, 0}, {finishing_.get(), POLLIN, 0}}};
    if (::poll(&sources[0], 1, static_cast<int>(kLook.count())) > 0) {
      // At most what a pipe with room takes at once.
      const ssize_t written = ::write(file_.get(), text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
      if (written < 0 && errno != EAGAIN && errno != EINTR) file_ = base::FileDescriptor();
    } else if (::poll(&sources[1], 1, 0) > 0 && (patience -= kLook) <= milliseconds(0)) {
      file_ = base::FileDescriptor();
    }
  }
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
