// Shows the progress of a rerun on one row of the terminal, and erases that row at the end. Draws only while this
// process group is in the foreground. After Ctrl-Z and bg, the row belongs to the shell.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cudadiag::command {

// Returns text such as "7 s", "62 s" or "3 min". Rounds up, because the times are estimates. Shows no tenths, which
// would flicker.
std::string whole_seconds(double seconds);

struct ProgressState {
  std::string doing;              // such as "confirming"
  double seconds = 0;             // since the start of the rerun
  std::optional<double> share{};  // the share of the work that is done, from 0 to 1
  double expected_seconds = 0;    // for the whole rerun, estimated from the first run; 0 if unknown
  double idle_seconds = 0;        // since the share last grew
};

// Returns text that fits in `columns` columns. Omits the least important words first.
std::string progress_line(const ProgressState& state, std::size_t columns);

// Adds up the time between ticks. Counts a gap of more than a second as one second, because this process was probably
// stopped.
class TickedTime {
 public:
  using Clock = std::chrono::steady_clock;
  explicit TickedTime(Clock::time_point now) : last_(now) {}
  double tick(Clock::time_point now);  // returns seconds

 private:
  Clock::time_point last_;
  double seconds_ = 0;
};

class Progress {
 public:
  // `operations` is the number of operations that the first run issued; 0 if unknown.
  Progress(std::string doing, std::uint64_t operations, double expected_seconds);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows these words from now on, with the time since the first of them, because nobody can estimate how long it takes.
  void now_waits_for(std::string what);
  // Call this several times a second.
  void show(std::uint64_t done);

 private:
  bool may_paint() const;

  ProgressState state_;
  std::uint64_t operations_;
  TickedTime time_;
  bool terminal_;
  bool shown_ = false, waits_ = false;
};

}  // namespace cudadiag::command
