#include "session/notes/replay_tally.h"

#include "session/json_values.h"
#include "session/plain_file.h"
#include "wire/rerun/saved_launch.h"

namespace cudadiag::session {

namespace {

std::string quantity(std::uint64_t bytes) {
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
  return bytes < kMebibyte ? std::to_string(bytes) + " bytes" : std::to_string(bytes / kMebibyte) + " MiB";
}

std::string gap(const ReplayTally& tally) {
  if (tally.unsaved > 0) return quantity(tally.unsaved) + " of the memory that it could reach was not saved";
  return tally.lacks_more ? "part of the memory that it could reach was not saved" : "";
}

}  // namespace

std::string sentence(const ReplayTally& tally, bool failed_alone) {
  const std::string reason = tally.why.empty() ? "" : ": " + tally.why;
  const std::string lacking = gap(tally);
  const auto of = [&](unsigned count) { return std::to_string(count) + " of " + std::to_string(tally.made()); };
  if (tally.runs == 0) return "not repeated alone yet" + reason;
  if (tally.made() == 0) return "the launch could not be repeated alone" + reason;
  if (tally.as_it_did > 0) {
    const unsigned others = tally.failed() - tally.as_it_did;
    return "reproduces alone: " + of(tally.as_it_did) +
           (others > 0 ? ", " + std::to_string(others) + " failed differently" : "");
  }
  if (tally.failed() > 0) {
    return "fails alone, but differently: " + of(tally.failed()) + (lacking.empty() ? "" : "; " + lacking);
  }
  if (!lacking.empty()) return "does not fail alone, but " + lacking;
  if (failed_alone) {
    return "the saved launch does not reproduce the failure, although the launch failed alone in the rerun: something "
           "that was not saved matters (memory that was not reached, or GPU state)";
  }
  return "does not fail alone: it depends on what runs at the same time, or on something that was not saved";
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
                     {"impossible", tally.impossible},
                     {"unsaved", tally.unsaved},
                     {"lacks_more", tally.lacks_more},
                     {"gpu", tally.gpu},
                     {"why", tally.why}};
  return json_text(json, -1) + "\n";
}

std::optional<ReplayTally> parse_replay_tally(std::string_view text) {
  const Json json = parse_json(text);
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
  tally.unsaved = integer_of<std::uint64_t>(json, "unsaved").value_or(0);
  const auto lacks = json.find("lacks_more");
  tally.lacks_more = lacks != json.end() && lacks->is_boolean() && lacks->get<bool>();
  tally.gpu = short_text_of(json, "gpu");
  tally.why = short_text_of(json, "why");
  if (tally.runs != tally.failed() + tally.did_not_fail + tally.impossible) return std::nullopt;
  return tally;
}

std::optional<ReplayTally> read_replay_tally(const std::filesystem::path& folder) {
  constexpr std::uint64_t kMostBytes = 4096;
  const auto text = read_plain_file(folder / kReplayTallyFile, kMostBytes);
  return text ? parse_replay_tally(*text) : std::nullopt;
}

}  // namespace cudadiag::session
