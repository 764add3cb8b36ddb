// Looks for races between streams while the target runs: reads its rings on a thread of its own and keeps what is
// found.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "launch/arena.h"
#include "launch/process.h"
#include "session/races.h"

namespace cudadiag::command {

class RaceWatch {
 public:
  // `relay` is woken at the first race.
  RaceWatch(const launch::Arena& arena, launch::SignalRelay& relay);
  ~RaceWatch();
  RaceWatch(const RaceWatch&) = delete;
  RaceWatch& operator=(const RaceWatch&) = delete;

  bool found_any() const { return found_.load(std::memory_order_acquire); }
  // The target has ended: what it has left is read too. Called once.
  session::Races finish();

 private:
  struct Watched;

  void run();
  bool look();

  const launch::Arena& arena_;
  launch::SignalRelay& relay_;
  std::vector<std::unique_ptr<Watched>> processes_;
  std::atomic<bool> stopping_ = false, found_ = false;
  std::thread thread_;
};

}  // namespace cudadiag::command
