#include "evidence/failing_state.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "evidence/code_places.h"

namespace cudadiag::evidence {
namespace {

class Collection {
 public:
  Collection(const Dump& dump, const DeviceCode& code, const Lane& first, const Function& around)
      : dump_(dump), code_(code), first_(first), around_(around), grid_(dump.grid(cta_of(first))) {}

  FailingState of(std::vector<const Lane*> lanes) {
    describe_grid();
    note_standing();
    std::erase_if(lanes, [this](const Lane* lane) { return !fails_with_first(*lane); });
    const auto place = [this](const Lane* lane) {
      return std::tuple(linear(cta_of(*lane).block), lane->warp, linear(lane->thread));
    };
    std::sort(lanes.begin(), lanes.end(), [&](const Lane* a, const Lane* b) { return place(a) < place(b); });
    if (lanes.size() > FailingState::kMostLanes) {
      state_.left_out = lanes.size() - FailingState::kMostLanes;
      lanes.resize(FailingState::kMostLanes);
    }
    const Lane* before = nullptr;
    for (const Lane* lane : lanes) {
      if (before == nullptr || before->warp != lane->warp) add_warp(*lane);
      add_lane(*lane);
      before = lane;
    }
    return std::move(state_);
  }

 private:
  const Cta& cta_of(const Lane& lane) const { return dump_.cta(dump_.warp(lane)); }

  bool fails_with_first(const Lane& lane) const {
    const Cta &cta = cta_of(lane), &first = cta_of(first_);
    return cta.grid == first.grid && dump_.sm(cta).device == dump_.sm(first).device &&
           lane.exception == first_.exception && dump_.warp(lane).error_pc == dump_.warp(first_).error_pc;
  }

  void describe_grid() {
    if (grid_ == nullptr) return;
    const Bytes parameters = dump_.parameters(*grid_);
    state_.parameters = std::string(parameters.all());
    state_.clusters = grid_->clusters != Dim3{} && grid_->clusters != Dim3{1, 1, 1};
    if (const Context* context = dump_.context(*grid_)) {
      state_.shared_window = context->shared_window;
      state_.local_window = context->local_window;
    }
  }

  // Records for each warp whether all its threads are at the same instruction. This is false for a warp with inactive
  // threads, because inactive threads are at other instructions.
  void note_standing() {
    for (const Lane& lane : dump_.lanes) {
      const Warp& warp = dump_.warp(lane);
      if (!has_bit(warp.valid, lane.id)) continue;
      const auto [found, made] = stands_.try_emplace(lane.warp, std::pair(lane.pc, warp.valid == warp.active));
      if (!made && found->second.first != lane.pc) found->second.second = false;
    }
  }

  void add_warp(const Lane& lane) {
    const Warp& warp = dump_.warp(lane);
    state_.warps.push_back({.block = cta_of(lane).block,
                            .together = stands_.at(lane.warp).second,
                            .shared_bytes = warp.shared_bytes,
                            .uniform_registers = dump_.uniform_registers(warp),
                            .uniform_predicates = dump_.uniform_predicates(warp),
                            .lanes = {}});
  }

  void add_lane(const Lane& lane) {
    FailingLane out{.lane = lane.id,
                    .thread = lane.thread,
                    .stands = std::nullopt,
                    .registers = dump_.registers(lane),
                    .predicates = dump_.predicates(lane)};
    const auto pc = standing_at(code_, lane, grid_);
    if (pc && around_.contains(*pc)) out.stands = *pc - around_.address;
    state_.warps.back().lanes.push_back(std::move(out));
  }

  const Dump& dump_;
  const DeviceCode& code_;
  const Lane& first_;
  const Function& around_;
  const Grid* grid_;
  FailingState state_;
  std::map<Row, std::pair<std::uint64_t, bool>> stands_;  // for each warp: the PC of one thread, and whether all
                                                          // threads are there
};

}  // namespace

FailingState failing_state(const Dump& dump, const DeviceCode& code, const std::vector<const Lane*>& lanes,
                           const Lane& first, const Function& around) {
  return Collection(dump, code, first, around).of(lanes);
}

}  // namespace cudadiag::evidence
