// Makes a saved launch again in a child process, which it may crash, hang or have ended by the driver.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/process.h"
#include "replay/launch_folder.h"
#include "replay/verdict.h"
#include "supervise/tools/external_tools.h"

namespace cudadiag::supervise {

// The hidden command of this program that the child runs.
inline constexpr const char* kReplayChild = "replay-child";

struct PlaySettings {
  int device = 0;
  std::chrono::milliseconds patience = std::chrono::seconds(60);
};

class LaunchPlayer {
 public:
  // Both outlive this.
  LaunchPlayer(const replay::LaunchFolder& folder, launch::SignalRelay& relay, PlaySettings settings);
  ~LaunchPlayer();
  LaunchPlayer(const LaunchPlayer&) = delete;
  LaunchPlayer& operator=(const LaunchPlayer&) = delete;

  // `without`: blocks by index whose contents are zero.
  replay::Run play(const std::vector<std::uint32_t>& without = {});
  // Keeps what the memory holds after the launch in a new folder.
  replay::Run play_for_outputs(const std::filesystem::path& outputs, int device);
  // Under compute-sanitizer, each block as an allocation of its own; `log` gets its words.
  replay::Run play_sanitized(SanitizerTool tool, const std::string& sanitizer, std::string& log);
  // How far the latest replay was from the original.
  const replay::Answer& latest() const { return latest_; }

 private:
  struct Order {
    int device = 0;
    bool tight = false;
    std::vector<std::uint32_t> without{};
    std::filesystem::path outputs{}, dump{};
    std::vector<std::string> under{};  // words before the command
  };
  replay::Run run(const Order& order);
  std::vector<std::string> command(const Order& order, const std::filesystem::path& answer) const;
  void find_instruction();

  const replay::LaunchFolder& folder_;
  launch::SignalRelay& relay_;
  PlaySettings settings_;
  std::filesystem::path scratch_;
  unsigned runs_ = 0;
  bool fixed_ = false;  // without randomised addresses
  bool fixed_tried_ = false;
  bool dumped_ = false;
  std::optional<replay::Instruction> instruction_;  // at which it fails here
  replay::Answer latest_;
};

}  // namespace cudadiag::supervise
