// Writes the status of a run as text for people and as JSON for programs, and its activity between two readings:
// operations per second by line and kernel, and unfinished work.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/status.h"
#include "report/writers.h"

namespace cudadiag::report {

// Returns a state such as "running, initialised CUDA 62 s ago". `since_cuda`: see Status.
std::string state_text(std::optional<bool> goes_on, std::optional<double> seconds, bool since_cuda);
std::string write_status_text(const diagnose::Status& status, const TextOptions& options);
std::string write_status_json(const diagnose::Status& status);

struct Busy {
  std::string name;  // a kernel, or "train.py:41, forward"
  double per_second = 0;
};

struct StreamQueue {
  std::uint32_t pid = 0;
  std::string name;
  std::uint32_t unfinished = 0;  // operations that may be unfinished
  bool proven = false;           // at least one operation is certainly unfinished
  double seconds = 0;            // time since the oldest of them was issued
};

struct Activity {
  double seconds = 0;  // between the two readings
  double per_second = 0;
  std::uint64_t operations = 0, errors = 0;  // counted since the start
  std::size_t processes = 0;
  std::vector<Busy> kernels, lines;  // busiest first
  std::vector<StreamQueue> streams;  // most unfinished work first
};

// Reads a run's activity repeatedly. Resolves each line only once.
class ActivityWatch {
 public:
  // Returns the activity since the last call or, at the first call, since the start.
  Activity look(const session::Session& session);

 private:
  struct Counted {
    double at = 0;  // time on the process's clock
    std::uint64_t operations = 0;
    std::vector<std::uint64_t> sites;
  };
  struct Named {
    std::string kernel, line;
  };
  using SiteKey = std::pair<std::uint32_t, std::uint32_t>;  // pid, site id

  void name(const session::Session& session, const std::vector<SiteKey>& wanted);

  std::map<std::uint32_t, Counted> last_;  // by pid
  std::map<SiteKey, Named> names_;
};

// Writes the activity below `heading`, in at most `rows` rows. Lines wrap at `columns`. A word that does not fit on a
// line is cut.
std::string write_activity(const std::string& heading, const Activity& activity, std::size_t rows, std::size_t columns);

}  // namespace cudadiag::report
