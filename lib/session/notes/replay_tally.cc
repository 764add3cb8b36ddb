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

void fields(ReplayTally& tally, auto& field) {
  field("runs", tally.runs);
  field("as_it_did", tally.as_it_did);
  field("otherwise", tally.otherwise);
  field("did_not_fail", tally.did_not_fail);
  field("hung", tally.hung);
  field("crashed", tally.crashed);
  field("impossible", tally.impossible);
  field("unsaved", tally.unsaved);
  field("lacks_more", tally.lacks_more);
  field("gpu", tally.gpu);
  field("why", tally.why);
}

std::string write_replay_tally(ReplayTally tally) { return json_text(FieldWriter::written(tally), -1) + "\n"; }

std::optional<ReplayTally> parse_replay_tally(std::string_view text) {
  constexpr unsigned kMost = 1'000'000, kUnset = kMost + 1;
  ReplayTally tally{kUnset, kUnset, kUnset, kUnset, kUnset, kUnset, kUnset};
  if (!FieldReader::read(parse_json(text), tally)) return std::nullopt;
  for (const unsigned count : {tally.runs, tally.as_it_did, tally.otherwise, tally.did_not_fail, tally.hung,
                               tally.crashed, tally.impossible}) {
    if (count > kMost) return std::nullopt;
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
