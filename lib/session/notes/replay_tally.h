// The outcomes of repeating a saved launch on its own (lib/replay). They are stored in a file in the launch's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cudadiag::session {

inline constexpr const char* kReplayTallyFile = "replays.json";

struct ReplayTally {
  unsigned runs = 0;
  unsigned as_it_did = 0, otherwise = 0, did_not_fail = 0, hung = 0, crashed = 0, impossible = 0;
  std::uint64_t unsaved = 0;  // bytes of memory that the launch could reach but that were not saved
  bool lacks_more = false;    // something other than these bytes was not saved either
  std::string gpu{};          // PCI bus id of the GPU of the first replay; empty if unknown
  std::string why{};          // why the launch was not replayed; empty if it was

  unsigned made() const { return runs - impossible; }
  unsigned failed() const { return as_it_did + otherwise + hung + crashed; }
};

// Returns a clause such as "reproduces alone: 20 of 20". Set `failed_alone` if a rerun proved that the launch fails
// even if nothing else runs on the GPU. The clause then does not explain successful replays by the absence of other
// work.
std::string sentence(const ReplayTally& tally, bool failed_alone = false);

std::filesystem::path saved_launch_folder(const std::filesystem::path& pass_folder, std::uint32_t pid);
std::string write_replay_tally(ReplayTally tally);
std::optional<ReplayTally> parse_replay_tally(std::string_view text);
std::optional<ReplayTally> read_replay_tally(const std::filesystem::path& folder);

}  // namespace cudadiag::session
