#include "evidence/failed_threads.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace cudadiag::evidence {

std::vector<const Lane*> failed_threads(const Dump& dump, bool trapped) {
  std::vector<const Lane*> failed;
  for (const Lane& lane : dump.lanes) {
    const Warp& warp = dump.warp(lane);
    const bool here = trapped ? warp.broken && has_bit(warp.active, lane.id) : lane.exception != 0;
    if (here && has_bit(warp.valid, lane.id)) failed.push_back(&lane);
  }
  return failed;
}

const Lane& first_of(const Dump& dump, const std::vector<const Lane*>& threads) {
  const auto position = [&dump](const Lane* lane) {
    const Cta& cta = dump.cta(dump.warp(*lane));
    return std::tuple(dump.sm(cta).device, cta.grid, linear(cta.block), linear(lane->thread));
  };
  return **std::ranges::min_element(threads, {}, position);
}

FailedCount count_in_grid(const Dump& dump, const std::vector<const Lane*>& threads, const Cta& block) {
  FailedCount count;
  std::set<Dim3> blocks;
  for (const Lane* lane : threads) {
    const Cta& cta = dump.cta(dump.warp(*lane));
    if (cta.grid != block.grid || dump.sm(cta).device != dump.sm(block).device) continue;
    ++count.threads;
    blocks.insert(cta.block);
  }
  count.blocks = blocks.size();
  return count;
}

const Sm* first_failed_sm(const Dump& dump) {
  const auto failed = std::ranges::find_if(dump.sms, [](const Sm& sm) { return sm.exception != 0; });
  return failed == dump.sms.end() ? nullptr : &*failed;
}

}  // namespace cudadiag::evidence
