// Keeps every operation of a run (session/log/log_codec.h): reads the rings while the target fills them, on a thread of its
// own, and writes a log for each process beside its area.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "launch/arena.h"
#include "session/session.h"

namespace cudadiag::supervise {

class FullLog {
 public:
  FullLog(const launch::Arena& arena, std::filesystem::path folder);
  ~FullLog();
  FullLog(const FullLog&) = delete;
  FullLog& operator=(const FullLog&) = delete;

  // Afterwards the files have everything that the target has issued and seen return so far.
  void catch_up();
  // Removes the files, to make room for the rest of the session; returns the message for the user, once.
  std::vector<base::Error> give_up();
  // The target has ended: writes the rest. Call it once; returns what went wrong.
  std::vector<base::Error> finish();
  // After finish(): operations that were overwritten before they could be read.
  std::uint64_t lost() const;

 private:
  struct Logged;

  void run();
  void stop();
  void look();

  const launch::Arena& arena_;
  const std::filesystem::path folder_;
  std::mutex mutex_;  // of what the processes' entries hold
  std::vector<std::unique_ptr<Logged>> processes_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace cudadiag::supervise
