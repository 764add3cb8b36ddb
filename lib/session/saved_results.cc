#include "session/saved_results.h"

#include <fcntl.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "session/json_fields.h"
#include "session/session_files.h"
#include "wire/rerun.h"
#include "wire/saved_launch.h"

namespace cudadiag::session {
namespace {

constexpr const char* kKernelCodeSchema = "cudadiag.kernel-code/1";
constexpr std::size_t kMostCodes = 64;

}  // namespace

void fields(KernelCode& code, auto& field) {
  field("kernel", code.kernel);
  field("bank_offset", code.bank_offset);
  field("bank_size", code.bank_size);
  field("harmless_calls", code.harmless_calls);
  field("text", code.text);
  field("shared_bytes", code.shared_bytes);
}

std::string write_kernel_code(std::vector<KernelCode> codes) {
  const Json document = {{"schema", kKernelCodeSchema}, {"kernels", FieldWriter::written(codes)}};
  return json_text(document, 1) + "\n";
}

std::optional<std::vector<KernelCode>> parse_kernel_code(std::string_view text) {
  const Json document = parse_json(text);
  if (!document.is_object() || text_of(document, "schema") != kKernelCodeSchema) return std::nullopt;
  const auto list = document.find("kernels");
  if (list == document.end() || !list->is_array() || list->size() > kMostCodes) return std::nullopt;
  std::vector<KernelCode> codes;
  FieldReader::read(*list, codes);
  return codes.size() == list->size() ? std::optional(std::move(codes)) : std::nullopt;
}

namespace {

constexpr std::uintmax_t kMostCallBytes = 16u << 20;
constexpr std::size_t kMostMissing = 64;

}  // namespace

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
  call.bytes = count_of(object, "bytes");
  call.tensors = list_of(object, "tensors").size();
  for (const Json& each : list_of(object, "missing")) {
    if (each.is_string() && call.missing.size() < kMostMissing) call.missing.push_back(short_text(each));
  }
  // The interpreter's path must be absolute, because PATH could resolve a bare name to a different program.
  if (call.op.empty() || !call.python.starts_with('/')) return std::nullopt;
  return call;
}

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

std::string last_printed_line(const std::filesystem::path& pass_folder) {
  constexpr std::uint64_t kMost = 4096;
  const base::FileDescriptor file = base::open_plain(pass_folder / kOutputFile);
  if (!file.valid()) return "";
  const std::uint64_t size = base::size_of(file);
  const std::string end = base::read_part(file.get(), size - std::min(size, kMost), std::min(size, kMost));
  const std::string_view text = base::trimmed(end, " \t\r\n");
  return std::string(text.substr(text.rfind('\n') + 1));
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
