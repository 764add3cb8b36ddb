#include "session/notes/forks.h"

#include <algorithm>
#include <string_view>

#include "base/number.h"
#include "session/property.h"

namespace cudadiag::session {

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
  const auto parent = std::find_if(session.processes.begin(), session.processes.end(),
                                   [&](const Process& other) { return other.pid == pid && &other != &process; });
  if (parent == session.processes.end()) return {};
  return ForkOrigin{&*parent, by_id(parent->record.sites, *site) == nullptr ? 0 : *site};
}

}  // namespace cudadiag::session
