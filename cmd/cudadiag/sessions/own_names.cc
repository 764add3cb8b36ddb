#include "sessions/own_names.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "session/host_name.h"

namespace cudadiag::command {

report::Redaction own_names(const session::Session& session) {
  std::vector<std::string> homes, users, hosts = {session.manifest.host, session::host_name()};
  if (const char* home = std::getenv("HOME")) homes.emplace_back(home);
  for (const char* variable : {"USER", "LOGNAME"}) {
    if (const char* user = std::getenv(variable)) users.emplace_back(user);
  }
  if (const passwd* entry = ::getpwuid(::geteuid())) {
    homes.emplace_back(entry->pw_dir);
    users.emplace_back(entry->pw_name);
  }
  return {std::move(homes), std::move(users), std::move(hosts)};
}

}  // namespace cudadiag::command
