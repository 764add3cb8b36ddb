#include "evidence/running.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "evidence/code_places.h"

namespace cudadiag::evidence {
namespace {

// Limits the places that are listed for each kernel. Most threads of a kernel are in a few loops, so more places would
// tell the user nothing new.
constexpr std::size_t kMostPlaces = 8;

struct Gathered {
  RunningKernel kernel;
  std::set<Dim3> blocks;
  std::map<std::uint64_t, RunningPlace> places;  // keyed by address
};

class Search {
 public:
  Search(const Dump& dump, const DeviceCode& code) : dump_(dump), code_(code) {}

  std::vector<RunningKernel> run() {
    for (const Lane& lane : dump_.lanes) {
      if (has_bit(dump_.warp(lane).valid, lane.id)) add(lane);
    }
    std::vector<RunningKernel> running;
    for (auto& [key, gathered] : kernels_) running.push_back(finish(std::move(gathered)));
    std::stable_sort(running.begin(), running.end(),
                     [](const auto& a, const auto& b) { return a.threads > b.threads; });
    if (running.size() > kMostKernels) running.resize(kMostKernels);
    std::vector<std::pair<CodePlace*, std::uint64_t>> places;
    for (RunningKernel& kernel : running) {
      for (RunningPlace& place : kernel.places) places.emplace_back(&place.place, place.place.pc);
    }
    resolve(code_, places);
    return running;
  }

 private:
  void add(const Lane& lane) {
    const Cta& cta = dump_.cta(dump_.warp(lane));
    const Grid* grid = dump_.grid(cta);
    auto [found, made] = kernels_.try_emplace({dump_.sm(cta).device, cta.grid});
    Gathered& gathered = found->second;
    if (made) describe(gathered.kernel, cta, grid);
    ++gathered.kernel.threads;
    gathered.blocks.insert(cta.block);
    const auto pc = standing_at(code_, lane, grid);
    if (!pc) return;
    RunningPlace& place = gathered.places.try_emplace(*pc).first->second;
    place.place.pc = *pc;
    const bool first = place.threads == 0 || std::pair(linear(cta.block), linear(lane.thread)) <
                                                 std::pair(linear(place.block), linear(place.thread));
    if (first) {
      place.block = cta.block;
      place.thread = lane.thread;
    }
    ++place.threads;
  }

  void describe(RunningKernel& kernel, const Cta& cta, const Grid* grid) const {
    kernel.device = dump_.device(dump_.sm(cta)).id;
    kernel.grid_id = cta.grid;
    if (grid == nullptr) return;
    kernel.grid = grid->blocks;
    kernel.block_dim = grid->threads;
    kernel.host_thread = grid->host_thread;
    if (const Function* function = code_.kernel_at(grid->entry)) kernel.kernel = function->name;
  }

  static RunningKernel finish(Gathered gathered) {
    RunningKernel& kernel = gathered.kernel;
    kernel.blocks = gathered.blocks.size();
    for (auto& [pc, place] : gathered.places) kernel.places.push_back(std::move(place));
    std::stable_sort(kernel.places.begin(), kernel.places.end(),
                     [](const RunningPlace& a, const RunningPlace& b) { return a.threads > b.threads; });
    if (kernel.places.size() > kMostPlaces) kernel.places.resize(kMostPlaces);
    return std::move(kernel);
  }

  const Dump& dump_;
  const DeviceCode& code_;
  std::map<std::pair<Row, std::uint64_t>, Gathered> kernels_;  // keyed by device and grid
};

}  // namespace

std::vector<RunningKernel> running_kernels(const Dump& dump, const DeviceCode& code) {
  return Search(dump, code).run();
}

}  // namespace cudadiag::evidence
