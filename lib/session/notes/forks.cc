#include "session/notes/forks.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "session/property.h"

namespace cudadiag::session {

bool is_fork(const ProcessRecord& record) { return has(record, Property::forked_from); }

std::optional<std::uint32_t> latest_fork(const ProcessRecord& record) {
  const std::string& text = value_of(record, Property::forked_at);
  std::uint32_t site = 0;
  std::from_chars(text.data(), text.data() + text.size(), site);
  return by_id(record.sites, site) == nullptr ? std::nullopt : std::optional(site);
}

std::optional<ForkOrigin> fork_origin(const Session& session, const Process& process) {
  const std::string& text = value_of(process.record, Property::forked_from);
  const char* end = text.data() + text.size();
  std::uint32_t pid = 0, site = 0;
  const auto [blank, error] = std::from_chars(text.data(), end, pid);
  if (error != std::errc() || blank == end || std::from_chars(blank + 1, end, site).ec != std::errc()) return {};
  const auto parent = std::find_if(session.processes.begin(), session.processes.end(),
                                   [&](const Process& other) { return other.pid == pid && &other != &process; });
  if (parent == session.processes.end()) return {};
  return ForkOrigin{&*parent, by_id(parent->record.sites, site) == nullptr ? 0 : site};
}

}  // namespace cudadiag::session
