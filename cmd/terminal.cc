#include "terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "launch/isolation/isolation.h"
#include "launch/signals.h"
#include "launch/standard_descriptors.h"
#include "report/text_layout.h"
#include "supervise/toolkit_programs.h"

namespace cudadiag::command {

namespace {

// How long a write to a nonblocking descriptor waits for a reader.
constexpr int kPatienceMilliseconds = 5000;
// A write to a blocking descriptor has no time limit, but checks at this interval whether cudadiag was asked to exit.
constexpr int kLookMilliseconds = 1000;
// Text is not wrapped for terminals that claim to be narrower.
constexpr int kLeastColumns = 40;

std::string unsaid;
bool is_unhurried = false;
bool wants_own_row = false;
int print_error = 0;  // the errno of the first failed write

bool takes_more() {
  // Reads O_NONBLOCK before each write, because the target shares our stderr and may change the flag.
  const bool waits = (::fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK) == 0;
  const int patience = is_unhurried ? 0 : waits ? kLookMilliseconds : kPatienceMilliseconds;
  while (true) {
    pollfd output{STDERR_FILENO, POLLOUT, 0};
    const int ready = ::poll(&output, 1, patience);
    if (ready < 0 && errno == EINTR) continue;
    if (ready != 0 || is_unhurried || !waits || launch::asked_to_end()) return ready > 0;
  }
}

// Returns the number of bytes to write next: at most PIPE_BUF, which a ready pipe accepts without blocking. Splits the
// text at the end of a line if possible, because other processes may write in between.
std::size_t next_piece() {
  if (unsaid.size() <= PIPE_BUF) return unsaid.size();
  const std::size_t line_end = unsaid.rfind('\n', PIPE_BUF - 1);
  return line_end == std::string::npos ? PIPE_BUF : line_end + 1;
}

void write_unsaid() {
  while (!unsaid.empty()) {
    if (!takes_more()) {
      if (!is_unhurried) unsaid.clear();
      return;
    }
    const ssize_t written = ::write(STDERR_FILENO, unsaid.data(), next_piece());
    if (written < 0 && errno == EAGAIN && is_unhurried) return;
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) return unsaid.clear();
    unsaid.erase(0, static_cast<std::size_t>(written));
  }
}

// Returns a row of spaces and a carriage return. If the cursor is in the first column, it returns to the start of the
// same row. Otherwise the spaces wrap, and the cursor ends at the start of the next row.
std::string own_row() {
  const auto columns = columns_of(STDERR_FILENO);
  if (!columns || !can_be_driven(STDERR_FILENO) || !launch::in_foreground(STDERR_FILENO)) return "";
  return std::string(static_cast<std::size_t>(*columns), ' ') + "\r\033[K";
}

}  // namespace

void begin_on_own_row() { wants_own_row = true; }

void write_error_text(const std::string& text) {
  if (!text.empty() && std::exchange(wants_own_row, false)) unsaid += own_row();
  unsaid += text;
  write_unsaid();
}

UnhurriedSpeech::UnhurriedSpeech() { is_unhurried = true; }

UnhurriedSpeech::~UnhurriedSpeech() {
  is_unhurried = false;
  write_unsaid();
}

bool UnhurriedSpeech::go_on() {
  write_unsaid();
  return unsaid.empty();
}

std::string fitted(const std::string& text, int file, std::size_t indent) {
  const auto columns = ::isatty(file) != 0 ? columns_of(file) : std::nullopt;
  if (columns < kLeastColumns) return text;
  std::string rows;
  for (const std::string& row : report::wrapped(text, static_cast<std::size_t>(*columns) - indent)) {
    rows += (rows.empty() ? "" : "\n" + std::string(indent, ' ')) + row;
  }
  return rows;
}

void say(const std::string& text) {
  write_error_text(fitted("cudadiag: " + base::printable(text), STDERR_FILENO) + "\n");
}

void say(const base::Error& failure) { say(failure.hint.empty() ? failure.what : failure.what + "; " + failure.hint); }

void print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size() && print_error == 0) print_error = errno;
}

bool output_arrived() {
  errno = 0;
  if (std::fflush(stdout) != 0 && print_error == 0) print_error = errno;
  if (print_error == 0 && std::ferror(stdout) == 0) return true;
  say(std::string("the output could not be written") +
      (print_error == 0 ? "" : ": " + std::string(std::strerror(print_error))));
  return false;
}

bool can_be_driven(int file) {
  const char* kind = std::getenv("TERM");
  return ::isatty(file) != 0 && kind != nullptr && *kind != '\0' && std::strcmp(kind, "dumb") != 0;
}

std::optional<int> columns_of(int file) {
  winsize size{};
  if (::ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

report::TextOptions text_options(report::Verbosity verbosity, int file) {
  report::TextOptions options;
  options.verbosity = verbosity;
  options.isolates = !launch::missing_isolation();
  options.colour = colour_choice == Colour::always && file >= 0;
  options.sanitizes = !supervise::find_sanitizer().empty();
  if (::isatty(file) == 0) return options;
  options.to_terminal = true;
  const char* no_colour = std::getenv("NO_COLOR");
  if (colour_choice == Colour::automatic)
    options.colour = can_be_driven(file) && (no_colour == nullptr || *no_colour == '\0');
  if (const auto columns = columns_of(file); columns >= kLeastColumns) options.columns = *columns;
  return options;
}

}  // namespace cudadiag::command
