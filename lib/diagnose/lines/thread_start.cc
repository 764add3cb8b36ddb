#include "diagnose/lines/thread_start.h"

#include <algorithm>

#include "diagnose/lines.h"
#include "session/processes.h"

namespace cudadiag::diagnose {
namespace {

// Returns the latest start reported for the operation's thread, if the reported line is on the operation's stack. A
// pool's thread reports a start for each piece of work.
const session::Delivery* start_of(const session::Process& process, const session::Operation& operation,
                                  symbolize::Symbolizer& symbolizer) {
  const session::ProcessRecord& record = process.record;
  const session::Site* site = session::by_id(record.sites, operation.site);
  if (site == nullptr || operation.thread >= record.threads.size()) return nullptr;
  const auto frames = symbolizer.stack(process, *site).python;
  const auto is_on_stack = [&](const session::Delivery& delivery) {
    return !delivery.file.empty() && std::any_of(frames.begin(), frames.end(), [&](const auto& frame) {
      return frame.line == delivery.line && frame.file.ends_with(delivery.file);
    });
  };
  const session::Delivery* last = nullptr;
  for (const session::Delivery& delivery : process.deliveries) {
    if (delivery.kind != session::DeliveryKind::started || delivery.tid != record.threads[operation.thread].tid)
      continue;
    if (delivery.ticks <= operation.ticks && is_on_stack(delivery)) last = &delivery;
  }
  return last;
}

}  // namespace

std::optional<ThreadStart> lead_to_start(symbolize::TrueLine& line, const analyse::Failure& failure,
                                         symbolize::Symbolizer& symbolizer) {
  if (line.user || failure.again == nullptr || failure.again_process == nullptr) return std::nullopt;
  const session::Delivery* told = start_of(*failure.again_process, *failure.again, symbolizer);
  if (told == nullptr) return std::nullopt;
  ThreadStart start{located(line.location), told->pool, {}};
  for (const auto& frames : told->stacks) {
    const auto stack = symbolizer.stack(*failure.again_process, frames).python;
    start.stack.insert(start.stack.end(), stack.begin(), stack.end());
    const auto user = std::find_if(stack.begin(), stack.end(), [](const auto& frame) { return frame.user; });
    if (user == stack.end()) continue;
    line = {{user->file, user->function, symbolize::Language::python, "", "", user->line}, {}, true, false};
    return start;
  }
  return std::nullopt;
}

}  // namespace cudadiag::diagnose
