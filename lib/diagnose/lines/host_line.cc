#include "diagnose/lines/host_line.h"

#include "diagnose/lines.h"

namespace cudadiag::diagnose {

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

}  // namespace cudadiag::diagnose
