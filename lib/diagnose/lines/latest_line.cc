#include "diagnose/lines/latest_line.h"

#include <algorithm>
#include <set>
#include <vector>

#include "diagnose/lines.h"

namespace cudadiag::diagnose {

const session::Operation* latest_of_a_line(const session::Process& process, symbolize::Symbolizer& symbolizer) {
  constexpr std::size_t kMost = 64;  // most sites to resolve, because resolving takes time
  std::vector<const session::Operation*> operations;
  for (const session::Operation& operation : process.record.operations) {
    if (operation.site != 0) operations.push_back(&operation);
  }
  std::sort(operations.begin(), operations.end(), [](const auto* a, const auto* b) { return a->ticks > b->ticks; });
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
