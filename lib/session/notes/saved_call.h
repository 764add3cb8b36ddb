// A call that a rerun saved with its arguments for `--save-inputs`. All fields have been checked. A script can repeat
// the call from the saved data. lib/python/cudadiag_hook/suspect_lines/inputs.py writes the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.h"

namespace cudadiag::session {

inline constexpr const char* kReplayScriptFile = "replay.py";

struct SavedCall {
  std::string op;  // "aten::embedding"
  std::string python;
  std::uint64_t bytes = 0;
  std::size_t tensors = 0;
  std::vector<std::string> missing;  // what could not be saved exactly
};

// The script's outcome, according to its exit status (lib/supervise/reruns/replay_script.py).
enum class ReplayOutcome { not_run, reproduces, does_not_reproduce, not_possible };
ReplayOutcome replay_outcome(const std::optional<Witness>& replay);

std::filesystem::path saved_call_folder(const std::filesystem::path& pass_folder, std::uint32_t pid);
std::optional<SavedCall> read_saved_call(const std::filesystem::path& folder);
std::optional<SavedCall> parse_saved_call(std::string_view text);

}  // namespace cudadiag::session
