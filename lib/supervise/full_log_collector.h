// Stores every operation of a run (session/full_log.h). A separate thread reads the rings while the target fills
// them, and writes a log for each process next to the process's area.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "launch/arena.h"
#include "session/session.h"

namespace cudadiag::supervise {

class FullLogCollector {
 public:
  FullLogCollector(const launch::Arena& arena, std::filesystem::path folder);
  ~FullLogCollector();
  FullLogCollector(const FullLogCollector&) = delete;
  FullLogCollector& operator=(const FullLogCollector&) = delete;

  // Writes out every call of the target that has returned so far.
  void catch_up();
  // Removes the files to make room for the rest of the session. Returns messages for the user, but only the first time.
  std::vector<base::Error> give_up();
  // Call this once, after the target has ended. Writes the remaining operations and returns what went wrong.
  std::vector<base::Error> finish();
  // Valid after finish(): how many operations were overwritten before they could be read.
  std::uint64_t lost() const;

 private:
  struct Logged;

  void run();
  void stop();
  void look();

  const launch::Arena& arena_;
  const std::filesystem::path folder_;
  std::mutex mutex_;  // guards the contents of `processes_`
  std::vector<std::unique_ptr<Logged>> processes_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace cudadiag::supervise
