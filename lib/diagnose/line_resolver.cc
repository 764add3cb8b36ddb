#include "diagnose/line_resolver.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/text.h"

namespace cudadiag::diagnose {

ResolvedSite resolve(symbolize::Symbolizer& symbolizer, const session::Process& process, std::uint32_t site_id,
                     std::uint32_t function) {
  ResolvedSite resolved;
  const session::Site* site = session::by_id(process.record.sites, site_id);
  if (function == 0 && site != nullptr) function = site->function;
  if (const std::string* name = session::by_id(process.record.functions, function)) resolved.mangled = *name;
  if (site == nullptr) return resolved;
  resolved.stack = symbolizer.stack(process, *site);
  resolved.line = symbolizer.true_line(resolved.stack, resolved.mangled);
  return resolved;
}

ResolveSite located_by(symbolize::Symbolizer& symbolizer) {
  return [&symbolizer](const session::Process& process, std::uint32_t site) {
    ResolvedSite resolved = resolve(symbolizer, process, site);
    return std::pair(located(resolved.line.location), std::move(resolved.stack));
  };
}

bool shares_line(symbolize::Symbolizer& symbolizer, const session::Process& process, std::uint32_t site_id,
                 const symbolize::Location& line) {
  constexpr int kMostLookedAt = 64;
  const auto& sites = process.record.sites;
  const session::Site* own = session::by_id(sites, site_id);
  if (own == nullptr) return false;
  const Location wanted = located(line);
  int looked_at = 0;
  for (const session::Site& site : sites) {
    if (&site == own || site.kind != own->kind || site.function != own->function) continue;
    if (++looked_at > kMostLookedAt) return true;
    const auto other = static_cast<std::uint32_t>(&site - sites.data()) + 1;
    if (same_line(located(resolve(symbolizer, process, other).line.location), wanted)) return true;
  }
  return false;
}

analyse::SameLine same_line_by(symbolize::Symbolizer& symbolizer) {
  using Lines = std::map<std::pair<const session::Process*, std::uint32_t>, symbolize::Location>;
  return [&symbolizer, lines = std::make_shared<Lines>()](const session::Process& process, std::uint32_t a,
                                                          std::uint32_t b) {
    const auto line_of = [&](std::uint32_t site) -> const symbolize::Location& {
      const auto [found, is_new] = lines->try_emplace({&process, site});
      if (is_new) found->second = resolve(symbolizer, process, site).line.location;
      return found->second;
    };
    const symbolize::Location &x = line_of(a), &y = line_of(b);
    return x.line > 0 && x.line == y.line && x.file == y.file;
  };
}

Location located(const symbolize::Location& from) {
  Location location = from;
  if (!from.called_from.empty()) location.called_from = {located(from.called_from.front())};
  for (const symbolize::SourceLine& line : symbolize::source_excerpt(from.file, from.line, 0)) {
    location.source = base::trimmed(line.text);
  }
  return location;
}

session::Work work_of(wire::operation::Kind kind) {
  using session::Work;
  using wire::operation::Kind;
  switch (kind) {
    case Kind::kernel:
      return Work::kernel;
    case Kind::graph:
      return Work::graph;
    case Kind::copy:
    case Kind::prefetch:
      return Work::copy;
    case Kind::memset:
      return Work::memset;
    case Kind::host_function:
      return Work::host_function;
    default:
      return Work::call;
  }
}

session::Work work_of(const session::Operation& operation) {
  using session::Work;
  using wire::operation::Kind;
  using wire::operation::MemoryOperation;
  switch (operation.kind) {
    case Kind::event_wait:
      return Work::wait;
    case Kind::event_record:
      return Work::event;
    case Kind::allocation:
      return Work::allocation;
    case Kind::memory_operation: {
      const MemoryOperation what = operation.memory_operation;
      return what == MemoryOperation::write || what == MemoryOperation::signal_semaphore ? Work::write : Work::wait;
    }
    default:
      return work_of(operation.kind);
  }
}

std::optional<Location> host_line(const session::Session& session, const session::Process& process,
                                  symbolize::Symbolizer& symbolizer) {
  const session::HostStack* found = nullptr;
  for (const session::HostStack& stack : session.manifest.host_stacks) {
    if (stack.pid == process.pid && (found == nullptr || stack.tid == process.pid)) found = &stack;
  }
  if (found == nullptr) return std::nullopt;
  const symbolize::SourceStack stack = symbolizer.stack(process, found->frames);
  Location line = located(symbolizer.true_line(stack, "").location);
  return line.nearest().line > 0 ? std::optional(std::move(line)) : std::nullopt;
}

const session::Operation* latest_of_a_line(const session::Process& process, symbolize::Symbolizer& symbolizer) {
  constexpr std::size_t kMost = 64;  // most sites to resolve, because resolving takes time
  std::vector<const session::Operation*> operations;
  for (const session::Operation& operation : process.record.operations) {
    if (operation.site != 0) operations.push_back(&operation);
  }
  std::ranges::sort(operations, [](const auto* a, const auto* b) { return a->ticks > b->ticks; });
  std::set<std::uint32_t> without;
  for (const session::Operation* operation : operations) {
    if (without.size() == kMost) break;
    if (without.contains(operation->site)) continue;
    if (located(resolve(symbolizer, process, operation->site).line.location).nearest().line > 0) return operation;
    without.insert(operation->site);
  }
  return nullptr;
}

}  // namespace cudadiag::diagnose
