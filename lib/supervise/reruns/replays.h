// Replays what a rerun saved, to see whether it fails on its own: the failing call with its tensors, by the script that
// is stored with it, or the failing launch with its memory. Under compute-sanitizer, the launch shows the failing
// address.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "base/files.h"
#include "diagnose/session_state.h"
#include "evidence/tool_text.h"
#include "launch/signals.h"
#include "replay/launch_folder.h"
#include "replay/player.h"
#include "replay/verdict.h"
#include "session/session.h"
#include "session/session_writer.h"
#include "supervise/reruns/rerun.h"
#include "supervise/toolkit_programs.h"

namespace cudadiag::supervise {

// The hidden cudadiag command that the child runs.
inline constexpr const char* kReplayChild = "replay-child";
// The argument that tells the child to leave CUDA_VISIBLE_DEVICES unset.
inline constexpr const char* kEveryGpu = "every";

struct PlaySettings {
  replay::GpuChoice gpu{};
  std::chrono::milliseconds patience = std::chrono::seconds(60);
  std::function<void()> tick{};  // called several times a second while a replay runs
};

// Repeats a saved launch in a child process. The child may crash or hang, and the driver kills it after a dump.
class LaunchPlayer {
 public:
  // `folder` and `relay` must outlive this object.
  LaunchPlayer(const replay::LaunchFolder& folder, launch::SignalRelay& relay, PlaySettings settings);
  LaunchPlayer(const LaunchPlayer&) = delete;
  LaunchPlayer& operator=(const LaunchPlayer&) = delete;

  // `without`: indices of blocks to fill with zeros. If the failing instruction is known, only a failure at that
  // instruction counts as reproduced.
  replay::Run play(const std::vector<std::uint32_t>& without = {});
  // Replays the launch, and then stores the contents of memory in a new folder.
  replay::Run play_for_outputs(const std::filesystem::path& outputs, const replay::GpuChoice& gpu);
  // Runs under compute-sanitizer, with a separate allocation for each block. `log` receives the tool's output.
  replay::Run play_sanitized(SanitizerTool tool, const std::string& sanitizer, std::string& log);
  // The report of the latest replay: the last step that it completed, and the blocks that are at new addresses.
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
  base::ScratchFolder scratch_{"replay"};
  unsigned runs_ = 0;
  bool fixed_ = false;  // replays run without address randomisation
  bool fixed_tried_ = false;
  bool dumps_ = true;                      // the driver writes dumps that show the instruction
  std::optional<replay::Dumped> failure_;  // from the dump of the first replay that failed as the launch did
  replay::Answer latest_;
};

extern const char* const kReplayScript;

// Replays the call of the first failure that a rerun confirmed, and stores the outcome in the session's manifest.
// Returns a problem if no call was saved, or if the replay did not start or could not be stored.
std::optional<RerunProblem> replay(session::Session& session, session::SessionWriter& writer,
                                   const analyse::Analysis& analysis, std::chrono::milliseconds patience,
                                   launch::SignalRelay& relay);

// Returns whether a rerun saved the failing launch.
bool has_saved_launch(const session::Session& session);

// Judges what memcheck printed about the replay. `access`: what is known of the failing access without its address.
// Returns an address only if nothing contradicts it:
//   - The kernel is the launch's. The instruction is that of the dump if it is known, and of the first access.
//   - The kind and the size of the access are those in `access`. Its block and thread are in the launch.
//   - Memory had new addresses in the replay. The address is moved back with the parameter from which it is computed.
//   - There, no memory was allocated in the same 2 MiB as the access, because the hardware would have allowed it. The
//     first access far from all memory is preferred. A misaligned address is misaligned there too, and no
//     other is.
//   - All memory that the launch could reach was saved, and the log is complete.
session::FoundAccess judged_access(const replay::SavedLaunch& launch, const replay::Answer& answer,
                                   const evidence::SanitizerLog& log, const diagnose::Access& access, bool misaligned);

// Replays the latest saved launch once under compute-sanitizer, for at most `limit`. Stores the failing access in the
// manifest, and updates `state`.
std::optional<RerunProblem> find_address(session::Session& session, diagnose::SessionState& state,
                                         session::SessionWriter& writer, launch::SignalRelay& relay,
                                         std::chrono::milliseconds limit, RerunListener& listener);

// Completes the folder of the latest saved launch, replays the launch, stores the result in the session's manifest, and
// updates `state`. Returns a problem if no launch was saved, or if something could not be stored.
std::optional<RerunProblem> try_saved_launch(session::Session& session, diagnose::SessionState& state,
                                             session::SessionWriter& writer, launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
