#include "terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "report/printable.h"

namespace cudadiag::command {

namespace {

// So long nobody need read what is written, where writing does not wait by itself.
constexpr int kPatienceMilliseconds = 5000;

bool takes_more() {
  pollfd output{STDERR_FILENO, POLLOUT, 0};
  const int ready = ::poll(&output, 1, kPatienceMilliseconds);
  return ready > 0 || (ready < 0 && errno == EINTR);
}

}  // namespace

void write_error_text(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    // The target shares the open file, and so whether writing to it waits.
    if (written < 0 && errno == EAGAIN && takes_more()) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void say(const std::string& text) { write_error_text("cudadiag: " + report::printable(text) + "\n"); }

void say(const session::Failure& failure) {
  say(failure.hint.empty() ? failure.what : failure.what + "; " + failure.hint);
}

bool output_arrived() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return true;
  // What went wrong earlier than now has left no reason.
  say(std::string("the output could not be written") + (flushed ? "" : ": " + std::string(std::strerror(errno))));
  return false;
}

bool can_be_driven(int file) {
  const char* kind = std::getenv("TERM");
  return ::isatty(file) != 0 && kind != nullptr && *kind != '\0' && std::strcmp(kind, "dumb") != 0;
}

report::TextOptions text_options(report::Verbosity verbosity, int file) {
  report::TextOptions options;
  options.verbosity = verbosity;
  if (::isatty(file) == 0) return options;
  const char* no_colour = std::getenv("NO_COLOR");
  options.colour = can_be_driven(file) && (no_colour == nullptr || *no_colour == '\0');
  winsize size{};
  if (::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) options.columns = size.ws_col;
  return options;
}

}  // namespace cudadiag::command
