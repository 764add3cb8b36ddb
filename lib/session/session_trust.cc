#include "session/session_trust.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>

#include "base/processes.h"
#include "session/process_record.h"

namespace cudadiag::session {

namespace {

// Returns the host that the launcher recorded. Without a launcher, returns the hosts that the processes recorded.
std::set<std::string> hosts_of(const Session& session) {
  if (!session.manifest.host.empty()) return {session.manifest.host};
  std::set<std::string> hosts;
  for (const Process& process : session.processes) {
    hosts.insert(value_of(process.record, Property::host));
  }
  return hosts;
}

}  // namespace

std::string why_foreign(const Session& session) {
  struct stat status {};
  if (::stat(session.folder.c_str(), &status) != 0) {
    return "its folder cannot be read (" + std::string(std::strerror(errno)) + ")";
  }
  if (status.st_uid != ::geteuid()) {
    return "its folder belongs to another user (uid " + std::to_string(status.st_uid) + ")";
  }
  const std::set<std::string> hosts = hosts_of(session);
  // A session with neither processes nor a command has nothing to show or run.
  if (hosts.empty() && session.manifest.command.empty()) return "";
  const std::string here = base::host_name();
  if (hosts.empty() || hosts.contains("")) return "the host that it was recorded on is unknown";
  if (hosts.size() == 1 && hosts.contains(here)) return "";
  const std::string& other = *hosts.begin() == here ? *hosts.rbegin() : *hosts.begin();
  return "it was recorded on another host (" + other + ")";
}

namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as many as the kernel follows

bool is_foreign(const struct stat& folder) { return folder.st_uid != 0 && folder.st_uid != ::geteuid(); }

bool is_exposed(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return false;
  return is_foreign(status) || ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0);
}

// Looks from the top down. Each folder is therefore known to be safe before anything in it is looked at.
std::optional<fs::path> exposed_above(const fs::path& path, int& links) {
  fs::path folder = path.root_path();
  for (const fs::path& part : path.relative_path()) {
    if (is_exposed(folder)) return folder;
    std::error_code error;
    const fs::path entry = folder / part, target = fs::read_symlink(entry, error);
    struct stat link {};
    if (!error && links-- > 0) {
      // In a folder with a sticky bit, the owner of a link may replace it.
      if (::lstat(entry.c_str(), &link) == 0 && is_foreign(link)) return folder;
      if (auto exposed = exposed_above(folder / target, links)) return exposed;
    }
    folder = entry;
  }
  return is_exposed(folder) ? std::optional(folder) : std::nullopt;
}

}  // namespace

std::optional<fs::path> exposed_folder(const fs::path& path) {
  int links = kMostLinks;
  return exposed_above(path, links);
}

std::optional<fs::path> exposed_folder(const Session& session) {
  std::error_code error;
  const fs::path path = fs::absolute(session.folder, error), place = fs::canonical(session.folder, error);
  const auto exposed = exposed_folder(path.parent_path());
  return exposed ? exposed : exposed_folder(place.parent_path());
}

std::string exposure_of(const fs::path& folder) {
  constexpr const char* kAnother = "choose a folder that only you can write to with -o FOLDER or CUDADIAG_DIR";
  const auto exposed = exposed_folder(folder);
  struct stat status {};
  if (!exposed || ::stat(exposed->c_str(), &status) != 0) return "";
  const std::string name = exposed->string();
  if (is_foreign(status)) {
    return name + " belongs to another user (uid " + std::to_string(status.st_uid) +
           "), who can replace a session while it is being written; " + kAnother;
  }
  const std::string remedy = status.st_uid == ::geteuid() ? "run chmod o-w " + name + ", or " : "";
  return "all users can write to " + name + " and replace a session while it is being written; " + remedy + kAnother;
}

}  // namespace cudadiag::session
