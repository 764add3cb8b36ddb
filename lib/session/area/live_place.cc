#include "session/area/live_place.h"

#include <algorithm>
#include <climits>
#include <fstream>
#include <sstream>

#include "base/processes.h"
#include "base/text.h"
#include "session/plain_file.h"

namespace cudadiag::session {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongest = 128;

// If `lives` is true, returns the newest session whose launcher is still running. Otherwise, returns the newest session
// whose recording was lost because its launcher was killed.
std::optional<fs::path> newest_held(const std::vector<Root>& roots, bool lives) {
  std::optional<fs::path> newest;
  for (const Root& root : roots) {
    for (const fs::path& session : sessions_in(root.folder)) {
      if (lives ? !run_goes_on(session) : !was_lost(session)) continue;
      if (!newest || session.filename() > newest->filename()) newest = session;
      break;  // sessions_in() returns the newest first
    }
  }
  return newest;
}

// Returns whether the process maps the memory file with this inode. A line of /proc/PID/maps looks like this:
// "7f0c14000000-7f0c18000000 rw-s 00001000 00:01 4711   /memfd:cudadiag-arena (deleted)".
bool maps(const std::string& process, std::uint64_t inode) {
  std::ifstream file("/proc/" + process + "/maps");
  for (std::string line; std::getline(file, line);) {
    if (line.find(" /memfd:cudadiag-arena") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string range, access, offset, device;
    std::uint64_t found = 0;
    if (fields >> range >> access >> offset >> device >> found && found == inode) return true;
  }
  return false;
}

}  // namespace

std::string write_live_place(const LivePlace& place) {
  return std::to_string(place.pid) + ' ' + std::to_string(place.descriptor) + ' ' + std::to_string(place.inode) + '\n';
}

std::optional<LivePlace> parse_live_place(std::string_view text) {
  LivePlace place;
  if (!base::take_number(text, place.pid, ' ') || !base::take_number(text, place.descriptor, ' ') ||
      !base::take_number(text, place.inode, '\n') || !text.empty()) {
    return std::nullopt;
  }
  if (place.pid == 0 || place.pid > INT_MAX || place.descriptor < 0) return std::nullopt;
  return place;
}

std::optional<LivePlace> live_place(const fs::path& session) {
  const auto text = read_plain_file(session / kArenaFile, kLongest);
  return text ? parse_live_place(*text) : std::nullopt;
}

bool was_lost(const fs::path& session) {
  std::error_code ignored;
  return session.filename().string().ends_with(kIncomplete) && fs::exists(session / kArenaFile, ignored) &&
         !fs::exists(session / kManifest, ignored) && !is_being_written(session);
}

bool is_held_by(const LivePlace& place, std::uint32_t pid) { return maps(std::to_string(pid), place.inode); }

std::vector<std::uint32_t> holders_of(const LivePlace& place) {
  std::vector<std::uint32_t> found;
  for (const pid_t process : base::all_processes()) {
    const auto pid = static_cast<std::uint32_t>(process);
    if (is_held_by(place, pid)) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<fs::path> newest_live(const std::vector<Root>& roots) { return newest_held(roots, true); }

std::optional<fs::path> newest_lost(const std::vector<Root>& roots) { return newest_held(roots, false); }

}  // namespace cudadiag::session
