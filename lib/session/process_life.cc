#include "session/process_life.h"

#include <fstream>
#include <string>

#include "session/host_name.h"
#include "session/session_folders.h"

namespace cudadiag::session {
namespace {

namespace fs = std::filesystem;

bool is_elsewhere(const ProcessRecord& record) {
  const auto host = record.properties.find("host");
  const std::string here = host_name();
  return host != record.properties.end() && !here.empty() && host->second != here;
}

}  // namespace

std::optional<bool> lives(const fs::path& session, const ProcessRecord& record) {
  if (record.state == wire::area::State::finished) return false;
  if (is_elsewhere(record)) return std::nullopt;
  const std::string pid = std::to_string(record.pid);
  std::error_code error;
  if (!fs::exists(fs::path("/proc") / pid, error)) return error ? std::nullopt : std::optional(false);
  std::ifstream maps("/proc/" + pid + "/maps");
  if (!maps) return std::nullopt;
  // By their last parts: a container sees a folder that it shares elsewhere.
  const fs::path name = session.filename();
  const std::string area = pid + ".area", here = "/" + (name / area).string(),
                    below = "/" + (name / kRecordFolder / area).string();
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(here) || line.ends_with(below)) return true;
  }
  // Reading them is refused only now where the process is somebody else's.
  return maps.bad() ? std::nullopt : std::optional(false);
}

}  // namespace cudadiag::session
