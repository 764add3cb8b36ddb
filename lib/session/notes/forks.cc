#include "session/notes/forks.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace cudadiag::session {

namespace {

constexpr const char* kProperty = "forked_from";  // "4711 12": the parent, and its site

}  // namespace

bool is_fork(const ProcessRecord& record) { return record.properties.count(kProperty) > 0; }

std::optional<std::uint32_t> latest_fork(const ProcessRecord& record) {
  const auto found = record.properties.find("forked_at");
  std::uint32_t site = 0;
  if (found == record.properties.end()) return std::nullopt;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), site);
  return by_id(record.sites, site) == nullptr ? std::nullopt : std::optional(site);
}

std::optional<ForkOrigin> fork_origin(const Session& session, const Process& process) {
  const auto found = process.record.properties.find(kProperty);
  if (found == process.record.properties.end()) return std::nullopt;
  const std::string& text = found->second;
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
