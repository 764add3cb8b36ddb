#include "terminal/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "diagnose/words.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

// An estimate from a smaller share of the work than this is too inaccurate.
constexpr double kLeastShare = 0.02;
constexpr int kUsualColumns = 80;  // for terminals that do not report their width

std::string time_text(const ProgressState& state) {
  if (!state.share) {
    const std::string so_far = whole_seconds(state.seconds);
    return state.seconds < state.expected_seconds ? so_far + " of about " + whole_seconds(state.expected_seconds)
                                                  : so_far + " so far";
  }
  if (*state.share < kLeastShare || *state.share >= 1) return "";
  const double left = (state.seconds - state.idle_seconds) / *state.share - state.seconds;
  return left > 0 ? whole_seconds(left) + " left" : "";
}

}  // namespace

std::string whole_seconds(double seconds) {
  const double whole = std::ceil(seconds);
  return whole < 10 ? fmt::format("{:.0f} s", whole) : diagnose::duration(whole);
}

std::string progress_line(const ProgressState& state, std::size_t columns) {
  std::string what = "cudadiag: " + state.doing;
  if (state.share) what += fmt::format(" {:.0f}%", std::floor(*state.share * 100));
  const std::string time = time_text(state);
  const std::string timed = time.empty() ? what : what + ", " + time;
  for (const std::string& line : {timed + " (Ctrl-C stops)", timed, what}) {
    if (line.size() <= columns) return line;
  }
  return what.substr(0, columns);
}

double TickedTime::tick(Clock::time_point now) {
  seconds_ += std::min(1.0, std::chrono::duration<double>(now - last_).count());
  last_ = now;
  return seconds_;
}

Progress::Progress(std::string doing, std::uint64_t operations, double expected_seconds)
    : state_{std::move(doing), 0, std::nullopt, expected_seconds},
      operations_(operations),
      time_(std::chrono::steady_clock::now()),
      terminal_(can_be_driven(STDERR_FILENO)) {}

Progress::~Progress() {
  if (shown_ && may_paint()) write_error_text("\r\033[K");
}

void Progress::now_waits_for(std::string what) {
  state_.doing = std::move(what);
  if (waits_) return;
  waits_ = true;
  state_.expected_seconds = 0;
  state_.share.reset();
  operations_ = 0;
  time_ = TickedTime(std::chrono::steady_clock::now());
}

bool Progress::may_paint() const { return terminal_ && in_foreground(STDERR_FILENO); }

void Progress::show(std::uint64_t done) {
  const double before = state_.seconds;
  state_.seconds = time_.tick(std::chrono::steady_clock::now());
  if (!may_paint()) return;
  if (operations_ > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(operations_));
    state_.idle_seconds = state_.share == share ? state_.idle_seconds + state_.seconds - before : 0;
    state_.share = share;
  }
  // Leaves the last column free, because some terminals wrap the line there.
  const int columns = columns_of(STDERR_FILENO).value_or(kUsualColumns) - 1;
  write_error_text("\r\033[K" + progress_line(state_, static_cast<std::size_t>(columns)));
  shown_ = true;
}

}  // namespace cudadiag::command
