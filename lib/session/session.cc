#include "session/session.h"

#include <fstream>

#include "base/processes.h"
#include "base/text.h"

namespace cudadiag::session {

namespace {

namespace fs = std::filesystem;

bool is_elsewhere(const ProcessRecord& record) {
  const std::string& host = value_of(record, Property::host);
  const std::string here = base::host_name();
  return !host.empty() && !here.empty() && host != here;
}

// Returns whether this is the area of the process, or of the program that it ran before exec. Compares only the end of
// the path, because a container sees a shared folder at a different path.
bool is_area(const fs::path& path, const std::string& session, const std::string& pid) {
  const std::string folder = path.parent_path().string(), here = "/" + session;
  if (!folder.ends_with(here) && !folder.ends_with(here + "/" + kRecordFolder)) return false;
  const std::string name = path.stem().string();
  return path.extension() == ".area" && (name == pid || name.starts_with(pid + "-"));
}

}  // namespace

std::optional<bool> lives(const fs::path& session, const ProcessRecord& record) {
  if (record.state == wire::area::State::finished) return false;
  if (is_elsewhere(record)) return std::nullopt;
  const std::string pid = std::to_string(record.pid), name = session.filename().string();
  std::error_code error;
  if (!fs::exists(fs::path("/proc") / pid, error)) return error ? std::nullopt : std::optional(false);
  std::ifstream maps("/proc/" + pid + "/maps");
  if (!maps) return std::nullopt;
  for (std::string line; std::getline(maps, line);) {
    if (is_area(line, name, pid)) return true;
  }
  // If the process belongs to another user, its mappings can be opened but not read.
  return maps.bad() ? std::nullopt : std::optional(false);
}

ReplayOutcome replay_outcome(const std::optional<Witness>& replay) {
  constexpr int kWorked = 0, kFailed = 10;
  if (!replay) return ReplayOutcome::not_run;
  if (replay->cut_short.empty() && replay->end.code == kWorked) return ReplayOutcome::does_not_reproduce;
  if (replay->cut_short.empty() && replay->end.code == kFailed) return ReplayOutcome::reproduces;
  return ReplayOutcome::not_possible;
}

bool is_fork(const ProcessRecord& record) { return has(record, Property::forked_from); }

std::optional<std::uint32_t> latest_fork(const ProcessRecord& record) {
  const auto site = base::whole_number<std::uint32_t>(value_of(record, Property::forked_at));
  return site && by_id(record.sites, *site) != nullptr ? site : std::nullopt;
}

std::optional<ForkOrigin> fork_origin(const Session& session, const Process& process) {
  std::string_view text = value_of(process.record, Property::forked_from);
  std::uint32_t pid = 0;
  if (!base::take_number(text, pid, ' ')) return {};
  const auto site = base::whole_number<std::uint32_t>(text);
  if (!site) return {};
  const auto parent = std::ranges::find_if(
      session.processes, [&](const Process& other) { return other.pid == pid && &other != &process; });
  if (parent == session.processes.end()) return {};
  return ForkOrigin{&*parent, by_id(parent->record.sites, *site) == nullptr ? 0 : *site};
}

}  // namespace cudadiag::session
