#include "session/ownership.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "session/host_name.h"
#include "session/property.h"

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
  const std::string here = host_name();
  if (hosts.empty() || hosts.contains("")) return "the host that it was recorded on is unknown";
  if (hosts.size() == 1 && hosts.contains(here)) return "";
  const std::string& other = *hosts.begin() == here ? *hosts.rbegin() : *hosts.begin();
  return "it was recorded on another host (" + other + ")";
}

}  // namespace cudadiag::session
