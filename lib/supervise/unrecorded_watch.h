// Finds processes of the target that use a GPU but are not recorded, while they run: afterwards nothing shows whether
// they used one. Reads the descriptors of each process of the target, and more only of a process that uses a GPU.
//
// A check takes about 0.1 ms of a processor per process. The first comes 10 ms after the start. The time between two
// checks doubles up to one second, or to a hundred times the processor time of a check. A process is missed if it has a
// context only between two checks.
// Rejected: ptrace and seccomp change how programs run; a watch of the device files does not tell whose process it was.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "launch/spawn.h"
#include "supervise/recording.h"

namespace cudadiag::supervise {

class UnrecordedWatch {
 public:
  // Both must outlive this object.
  UnrecordedWatch(const launch::Target& target, Recording& recording);

  // Checks the target's processes, if a check is due. Returns a sentence about each process found since the last call.
  // After the first few, processes are only counted.
  std::vector<std::string> look();
  // Call this after the target's end. Returns the same for processes that ended too soon for look().
  std::vector<std::string> finish();
  // How long to wait until the next check.
  std::chrono::milliseconds interval() const;
  // The number of processes that were only counted.
  std::size_t unnamed() const { return unnamed_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Key = std::pair<pid_t, std::uint64_t>;  // pid and start time
  struct Why;
  // A process that may be unreached.
  struct Suspect {
    Clock::time_point since;
    std::uint32_t own_pid = 0;  // in its own namespace
    std::string text{};  // the sentence about it; empty until it has a context, or should have been recorded long ago
  };

  std::optional<std::string> look_at(pid_t process, Clock::time_point now);
  // Returns the sentence, unless too many processes have been named.
  std::optional<std::string> name(const Key& key, std::string text);
  // Returns why the recorder does not record the process; nullopt if it does, or if another launcher records it.
  std::optional<Why> why_unreached(pid_t process);
  // The same for a process that has all variables, and in which `library` is visible.
  std::optional<Why> why_not_loaded(pid_t process, const std::string& library);
  bool is_recorded(std::uint32_t own_pid);
  bool descends_from_recorded(pid_t process);

  const launch::Target& target_;
  Recording& recording_;
  Clock::time_point next_;
  Clock::duration pause_;
  std::set<std::uint32_t> recorded_;  // pids of the areas, in the namespace of each process
  std::map<Key, Suspect> suspects_;
  std::set<Key> told_;
  std::size_t unnamed_ = 0;
};

}  // namespace cudadiag::supervise
