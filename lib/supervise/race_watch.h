// Looks for races between streams while the target runs: reads its rings on a thread of its own and keeps what is
// found. The device code that the recorder leaves for that goes when it is done.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "launch/arena.h"
#include "launch/process.h"
#include "session/notes/races.h"
#include "supervise/tools/kernel_modes.h"

namespace cudadiag::supervise {

class RaceWatch {
 public:
  // `relay` is woken at the first race. `pass_folder`: where the recorder leaves device code; empty: nowhere.
  // `disassembler`: as KernelModes has it.
  RaceWatch(const launch::Arena& arena, launch::SignalRelay& relay, const std::filesystem::path& pass_folder,
            std::string disassembler);
  ~RaceWatch();
  RaceWatch(const RaceWatch&) = delete;
  RaceWatch& operator=(const RaceWatch&) = delete;

  bool found_any() const { return found_.load(std::memory_order_acquire); }
  // The target has ended: reads the rest, and removes its device code. Call it once.
  session::Races finish();

 private:
  struct Watched;

  void run();
  bool look();
  void settle(bool at_last);
  void hand_on_the_rest();

  const launch::Arena& arena_;
  launch::SignalRelay& relay_;
  const std::filesystem::path modules_;
  KernelModes modes_;
  std::vector<std::unique_ptr<Watched>> processes_;
  std::atomic<bool> stopping_ = false, found_ = false;
  std::thread thread_;
};

}  // namespace cudadiag::supervise
