#include "sessions/session_summary.h"

#include <fcntl.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/plain_folder.h"
#include "base/write_all.h"
#include "diagnose/words.h"
#include "options/version.h"
#include "session/plain_file.h"
#include "session/session_folders.h"
#include "sessions/findings.h"

namespace cudadiag::command {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kMostBytes = 1u << 16;

// Returns the edition of a session. A cached summary of another edition is outdated. The edition changes if reruns
// rewrite the manifest, and with each build of cudadiag.
std::string edition_of(const fs::path& session) {
  std::error_code error;
  const auto written = fs::last_write_time(session / session::kManifest, error).time_since_epoch();
  return error ? "" : std::string(kCommit) + " " + std::to_string(written.count());
}

std::optional<SessionSummary> kept_in(const fs::path& session, const std::string& edition) {
  const auto text = session::read_plain_file(session / session::kSummary, kMostBytes);
  const Json json = Json::parse(text.value_or(""), nullptr, false);
  try {
    if (!json.is_object() || edition.empty() || json.at("edition") != edition) return std::nullopt;
    return SessionSummary{json.at("kind"), json.at("title"),    json.at("code"),  json.at("file"),
                          json.at("line"), json.at("function"), json.at("grade"), json.at("kernel")};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void keep_in(const fs::path& session, const std::string& edition, const SessionSummary& summary) {
  const Json json = {{"edition", edition},           {"kind", summary.kind},   {"title", summary.title},
                     {"code", summary.code},         {"file", summary.file},   {"line", summary.line},
                     {"function", summary.function}, {"grade", summary.grade}, {"kernel", summary.kernel}};
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
  base::replace_file(base::open_plain_folder(AT_FDCWD, session.c_str()), session::kSummary,
                     [&](int file) { return base::write_all(file, text); });
}

SessionSummary summary_of(const diagnose::Finding& finding) {
  const diagnose::Location& place = finding.location.nearest();
  SessionSummary summary;
  summary.kind = diagnose::word(finding.kind);
  summary.title = finding.title;
  summary.code = static_cast<int>(finding.code);
  summary.file = place.file;
  summary.line = place.line;
  summary.function = place.function;
  summary.grade = diagnose::word(finding.evidence.grade());
  if (finding.launch) summary.kernel = finding.launch->kernel;
  return summary;
}

}  // namespace

SessionSummary summary_of(const fs::path& folder, const ReadSession& open) {
  const std::string edition = edition_of(folder);
  if (auto kept = kept_in(folder, edition)) return *kept;
  const auto* read = std::get_if<session::Session>(&open());
  if (read == nullptr) return {};
  const diagnose::Diagnosis found = examine_found(*read, false);
  const SessionSummary summary = found.findings.empty() ? SessionSummary() : summary_of(found.findings.front());
  if (!edition.empty()) keep_in(folder, edition, summary);
  return summary;
}

}  // namespace cudadiag::command
