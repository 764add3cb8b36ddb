#include "session/notes/saved_call.h"

#include <fcntl.h>

#include "base/plain_folder.h"
#include "session/json_values.h"
#include "session/plain_file.h"
#include "wire/rerun/delivery.h"

namespace cudadiag::session {
namespace {

constexpr std::uintmax_t kMostCallBytes = 16u << 20;
constexpr std::size_t kMostMissing = 64;
constexpr int kWorked = 0, kFailed = 10;

}  // namespace

ReplayOutcome replay_outcome(const std::optional<Witness>& replay) {
  if (!replay) return ReplayOutcome::not_run;
  if (replay->cut_short.empty() && replay->end.code == kWorked) return ReplayOutcome::does_not_reproduce;
  if (replay->cut_short.empty() && replay->end.code == kFailed) return ReplayOutcome::reproduces;
  return ReplayOutcome::not_possible;
}

std::filesystem::path saved_call_folder(const std::filesystem::path& pass_folder, std::uint32_t pid) {
  return pass_folder / (std::to_string(pid) + wire::delivery::kInputsSuffix);
}

std::optional<SavedCall> read_saved_call(const std::filesystem::path& folder) {
  if (!base::open_plain_folder(AT_FDCWD, folder.c_str()).valid()) return std::nullopt;
  const auto text = read_plain_file(folder / "call.json", kMostCallBytes);
  return text ? parse_saved_call(*text) : std::nullopt;
}

std::optional<SavedCall> parse_saved_call(std::string_view text) {
  const Json object = parse_json(text);
  if (!object.is_object()) return std::nullopt;
  SavedCall call;
  call.op = short_text_of(object, "operator");
  call.python = short_text_of(object, "python");
  const auto tensors = object.find("tensors"), missing = object.find("missing");
  call.bytes = integer_of<std::uint64_t>(object, "bytes").value_or(0);
  if (tensors != object.end() && tensors->is_array()) call.tensors = tensors->size();
  if (missing != object.end() && missing->is_array()) {
    for (const Json& each : *missing) {
      if (each.is_string() && call.missing.size() < kMostMissing) call.missing.push_back(short_text(each));
    }
  }
  // The interpreter's path must be absolute, because PATH could resolve a bare name to a different program.
  if (call.op.empty() || !call.python.starts_with('/')) return std::nullopt;
  return call;
}

}  // namespace cudadiag::session
