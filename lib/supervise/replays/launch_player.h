// Repeats a saved launch in a child process, because the launch may crash or hang, or the driver may end the process.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/process.h"
#include "replay/launch_folder.h"
#include "replay/player.h"
#include "replay/verdict.h"
#include "supervise/tools/external_tools.h"

namespace cudadiag::supervise {

// The hidden command of this program that the child runs.
inline constexpr const char* kReplayChild = "replay-child";
// The child's argument for "CUDA_VISIBLE_DEVICES is not set".
inline constexpr const char* kEveryGpu = "every";

struct PlaySettings {
  replay::GpuChoice gpu{};
  std::chrono::milliseconds patience = std::chrono::seconds(60);
};

class LaunchPlayer {
 public:
  // `folder` and `relay` must outlive this object.
  LaunchPlayer(const replay::LaunchFolder& folder, launch::SignalRelay& relay, PlaySettings settings);
  ~LaunchPlayer();
  LaunchPlayer(const LaunchPlayer&) = delete;
  LaunchPlayer& operator=(const LaunchPlayer&) = delete;

  // `without` lists the indices of blocks to fill with zeros. If the failing instruction is known, each replay also
  // compares the instruction.
  replay::Run play(const std::vector<std::uint32_t>& without = {});
  // Replays the launch, and stores the memory contents after it in a new folder.
  replay::Run play_for_outputs(const std::filesystem::path& outputs, const replay::GpuChoice& gpu);
  // Runs under compute-sanitizer, with each block as a separate allocation. `log` receives the tool's output.
  replay::Run play_sanitized(SanitizerTool tool, const std::string& sanitizer, std::string& log);
  // How the latest replay differed from the original launch.
  const replay::Answer& latest() const { return latest_; }

 private:
  struct Order {
    replay::GpuChoice gpu{};
    bool tight = false;
    std::vector<std::uint32_t> without{};
    std::filesystem::path outputs{}, dump{};
    std::vector<std::string> under{};  // arguments that precede the command
  };
  replay::Run run(const Order& order);
  replay::Run run_at_old_addresses(const Order& order);
  replay::Run with_instruction(replay::Run run, Order order);
  std::vector<std::string> command(const Order& order, const std::filesystem::path& answer) const;

  const replay::LaunchFolder& folder_;
  launch::SignalRelay& relay_;
  PlaySettings settings_;
  std::filesystem::path scratch_;
  unsigned runs_ = 0;
  bool fixed_ = false;  // without randomised addresses
  bool fixed_tried_ = false;
  bool dumps_ = true;                      // whether the driver writes dumps that show the instruction
  std::optional<replay::Dumped> failure_;  // of the first replay whose dump shows that it fails as the launch did
  replay::Answer latest_;
};

}  // namespace cudadiag::supervise
