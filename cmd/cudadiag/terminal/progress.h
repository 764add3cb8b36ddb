// The progress of a rerun, on one row of the terminal that is erased afterwards. It is shown only if this process group
// is in the foreground of the terminal. After Ctrl-Z and bg, the row belongs to the shell.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cudadiag::command {

// Returns "7 s", "62 s", "3 min". Rounds up, for estimates, and omits tenths, which would flicker.
std::string whole_seconds(double seconds);

struct ProgressState {
  std::string doing;              // "confirming"
  double seconds = 0;             // since the rerun began
  std::optional<double> share{};  // of the work that is done, from 0 to 1
  double expected_seconds = 0;    // for the whole rerun, from the first run; 0 if unknown
};

// Returns at most `columns` columns. The least important words are omitted first.
std::string progress_line(const ProgressState& state, std::size_t columns);

// Measures time between ticks. A gap of more than a second counts as one second, because this process was stopped.
class TickedTime {
 public:
  using Clock = std::chrono::steady_clock;
  explicit TickedTime(Clock::time_point now) : last_(now) {}
  double tick(Clock::time_point now);  // seconds

 private:
  Clock::time_point last_;
  double seconds_ = 0;
};

class Progress {
 public:
  // `operations` is how many operations the first run issued; 0 if unknown.
  Progress(std::string doing, std::uint64_t operations, double expected_seconds);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Call this several times a second.
  void show(std::uint64_t done);

 private:
  bool may_paint() const;

  ProgressState state_;
  std::uint64_t operations_;
  TickedTime time_;
  bool terminal_;
  bool shown_ = false;
};

}  // namespace cudadiag::command
