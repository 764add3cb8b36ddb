// Looks for races between streams while the target runs. A separate thread reads the target's rings and collects the
// races.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "launch/arena.h"
#include "launch/signals.h"
#include "session/notes/races.h"
#include "supervise/kernel_modes.h"

namespace cudadiag::supervise {

class RaceWatch {
 public:
  // Wakes `relay` at the first race. `pass_folder` is where the recorder stores device code; empty if it stores none.
  // `disassembler` is the path of nvdisasm; empty if there is none.
  RaceWatch(const launch::Arena& arena, launch::SignalRelay& relay, const std::filesystem::path& pass_folder,
            std::string disassembler);
  ~RaceWatch();
  RaceWatch(const RaceWatch&) = delete;
  RaceWatch& operator=(const RaceWatch&) = delete;

  bool found_any() const { return found_.load(std::memory_order_acquire); }
  // Call this once, after the target has ended. Reads the remaining records. The device code is not needed afterwards.
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
