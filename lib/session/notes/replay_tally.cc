#include "session/notes/replay_tally.h"

#include "session/json_values.h"
#include "session/plain_file.h"
#include "wire/rerun/saved_launch.h"

namespace cudadiag::session {

std::string sentence(const ReplayTally& tally) {
  const auto of = [&](unsigned count) { return std::to_string(count) + " of " + std::to_string(tally.made()); };
  if (tally.runs == 0) return "not repeated alone yet";
  if (tally.made() == 0) return "the launch could not be repeated alone";
  if (tally.as_it_did > 0) {
    const unsigned others = tally.failed() - tally.as_it_did;
    return "reproduces alone: " + of(tally.as_it_did) +
           (others > 0 ? ", " + std::to_string(others) + " failed differently" : "");
  }
  if (tally.failed() > 0) return "fails alone, but differently: " + of(tally.failed());
  return "does not fail alone: it depends on what runs at the same time (likely a race)";
}

std::filesystem::path saved_launch_folder(const std::filesystem::path& pass_folder, std::uint32_t pid) {
  return pass_folder / (wire::saved_launch::kFolderPrefix + std::to_string(pid));
}

std::string write_replay_tally(const ReplayTally& tally) {
  const Json json = {{"runs", tally.runs},
                     {"as_it_did", tally.as_it_did},
                     {"otherwise", tally.otherwise},
                     {"did_not_fail", tally.did_not_fail},
                     {"hung", tally.hung},
                     {"crashed", tally.crashed},
                     {"impossible", tally.impossible}};
  return json.dump() + "\n";
}

std::optional<ReplayTally> parse_replay_tally(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  constexpr std::uint32_t kMost = 1'000'000;
  ReplayTally tally;
  const std::pair<const char*, unsigned*> fields[] = {{"runs", &tally.runs},
                                                      {"as_it_did", &tally.as_it_did},
                                                      {"otherwise", &tally.otherwise},
                                                      {"hung", &tally.hung},
                                                      {"did_not_fail", &tally.did_not_fail},
                                                      {"crashed", &tally.crashed},
                                                      {"impossible", &tally.impossible}};
  for (const auto& [key, value] : fields) {
    const auto number = integer_of<std::uint32_t>(json, key);
    if (!number || *number > kMost) return std::nullopt;
    *value = *number;
  }
  if (tally.runs != tally.failed() + tally.did_not_fail + tally.impossible) return std::nullopt;
  return tally;
}

std::optional<ReplayTally> read_replay_tally(const std::filesystem::path& folder) {
  constexpr std::uint64_t kMostBytes = 4096;
  const auto text = read_plain_file(folder / kReplayTallyFile, kMostBytes);
  return text ? parse_replay_tally(*text) : std::nullopt;
}

}  // namespace cudadiag::session
