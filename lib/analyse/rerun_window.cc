// Chooses the operations that a rerun waits for, to decide between the candidates of the first run.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/forward_launches.h"
#include "analyse/reruns.h"
#include "analyse/site_keys.h"
#include "session/process_record.h"
#include "wire/operation.h"
#include "wire/rerun.h"

namespace cudadiag::analyse {
namespace {

using wire::site_key::Key;

// A rerun may reach the failing call a few calls earlier or later, if the data differ slightly between runs.
constexpr std::uint32_t kSlack = 8;

constexpr std::uint32_t kSlackOfLaunch = 2;  // smaller, because the rerun saves each launch in the window

class Keys {
 public:
  void add(Key key, std::uint32_t from) {
    if (key == 0 || (keys_.size() == wire::window::kMostKeys && !keys_.contains(key))) return;
    const auto [at, fresh] = keys_.try_emplace(key, from);
    if (!fresh) at->second = std::min(at->second, from);
  }
  std::size_t size() const { return keys_.size(); }
  std::string text() const {
    std::string text;
    for (const auto& [key, from] : keys_) text += fmt::format("{}{:x}@{}", text.empty() ? "" : ",", key, from);
    return text;
  }

 private:
  std::map<Key, std::uint32_t> keys_;
};

void add(Keys& keys, const Failure& failure, WindowReach reach, bool always_hooked) {
  const SiteKeys sites(failure.process->record);
  // The rerun may be observed through hooks.
  const bool by_kernels =
      session::has(failure.process->record, session::Property::cupti_path) && are_identified_by_kernels(failure);
  for (const Candidate& candidate : failure.candidates) {
    const std::uint32_t ordinal = candidate.operation->site_ordinal;
    const bool from_call = reach == WindowReach::calls && ordinal > kSlack;
    const std::uint32_t from = from_call ? ordinal - kSlack : 1;
    keys.add(sites.of_site(candidate.operation->site), from);
    if (by_kernels) keys.add(sites.of_kernel(candidate.operation->site), from);
    const auto* site = session::by_id(failure.process->record.sites, candidate.operation->site);
    const bool may_be_hooked = session::has(failure.process->record, session::Property::python);
    if (may_be_hooked && site != nullptr && site->native != 0)
      keys.add(sites.of_hooked_site(candidate.operation->site), always_hooked ? from : 0);
    // Adds the call site that created the graph, so that its nodes can be distinguished from those of other graphs.
    const auto* graph = session::by_id(failure.process->record.graphs, candidate.operation->graph);
    if (graph != nullptr) keys.add(sites.of_site(graph->site), 1);
    if (reach == WindowReach::sites) keys.add(sites.of_kernel(candidate.operation->site), 1);
  }
}

std::uint32_t first_saved(const Candidate& candidate) {
  const std::uint32_t ordinal = candidate.operation->site_ordinal;
  return ordinal > kSlackOfLaunch ? ordinal - kSlackOfLaunch : 1;
}

// Returns false if other nodes of the same launch may have failed, because the saved node may then be the wrong one.
bool names_its_node(const Failure& failure, const Candidate& candidate) {
  if (&candidate == &failure.candidates.front() && failure.kind != Kind::async_error) return true;
  return std::ranges::none_of(failure.candidates, [&](const Candidate& other) {
    return &other != &candidate && other.operation == candidate.operation;
  });
}

// Collects graph nodes, likeliest first.
class SavedNodes {
 public:
  void add(const Candidate& candidate, const session::ProcessRecord& record) {
    // Nodes from one source line run together. A node can therefore be saved before it runs only if no other node comes
    // from its line.
    if (candidate.node == nullptr || candidate.node->type != wire::graph_node::kKernel || candidate.nodes != 1) return;
    const auto* kernel = session::by_id(record.functions, candidate.node->function);
    const Key key = kernel == nullptr ? 0 : wire::site_key::of_function(*kernel);
    const Place place = {candidate.node_index, candidate.nodes_of_graph, key};
    const auto known = std::ranges::find_if(nodes_, [&](const auto& node) { return node.first == place; });
    if (known != nodes_.end()) {
      known->second = std::min(known->second, first_saved(candidate));
    } else if (nodes_.size() < wire::window::kMostNodes) {
      nodes_.emplace_back(place, first_saved(candidate));
    }
  }
  std::string text() const {
    std::string text;
    for (const auto& [place, from] : nodes_) {
      const auto& [index, count, key] = place;
      text += fmt::format("{}node={}/{}/{:x}@{}", text.empty() ? "" : ",", index, count, key, from);
    }
    return text;
  }

 private:
  using Place = std::tuple<std::uint32_t, std::uint32_t, Key>;  // index of the node, size of its graph, kernel
  std::vector<std::pair<Place, std::uint32_t>> nodes_;
};

// Returns the largest number of operations that the call site issued in a single backward() call; 0 if `operation` is
// not a backward kernel. Going back this many operations from the failing one reaches the forward pass.
std::uint32_t calls_of_backward(const session::ProcessRecord& record, const session::Operation& operation) {
  if (!runs_node(operation)) return 0;
  std::map<std::uint16_t, std::uint32_t> calls;
  for (const session::Operation& other : record.operations) {
    if (other.site == operation.site && runs_node(other)) ++calls[other.origin.graph_task];
  }
  std::uint32_t most = 0;
  for (const auto& [task, count] : calls) most = std::max(most, count);
  return most;
}

std::string near_text(const Analysis& analysis) {
  std::uint32_t near = wire::window::kDefaultNear;
  for (const Failure& failure : analysis.failures) {
    for (const Candidate& candidate : failure.candidates) {
      near = std::max(near, calls_of_backward(failure.process->record, *candidate.operation));
    }
  }
  return near == wire::window::kDefaultNear ? "" : fmt::format(",near={}", near);
}

}  // namespace

RerunWindow rerun_window(const Analysis& analysis, WindowReach reach, bool always_hooked) {
  if (reach == WindowReach::everything) return {"all", kEveryOperation};
  Keys keys;
  std::size_t candidates = 0;
  for (const Failure& failure : analysis.failures) {
    if (!is_asynchronous(failure.kind)) continue;
    add(keys, failure, reach, always_hooked);
    candidates += failure.candidates.size();
  }
  if (reach == WindowReach::calls) {
    const std::string text = keys.text();
    return {text.empty() ? text : text + near_text(analysis),
            candidates == 1 ? "the only candidate and the calls around it"
                            : fmt::format("{} candidates and the calls around them", candidates)};
  }
  for (const Rerun& rerun : analysis.reruns) {
    if (rerun.failure) add(keys, *rerun.failure, reach, always_hooked);
  }
  return {keys.text(), "all calls on the candidates' lines and of their kernels"};
}

RerunWindow launch_window(const Analysis& analysis) {
  Keys keys;
  SavedNodes nodes;
  for (const Failure& failure : analysis.failures) {
    if (!is_asynchronous(failure.kind)) continue;
    const SiteKeys sites(failure.process->record);
    for (const Candidate& candidate : failure.candidates) {
      keys.add(sites.of_kernel(candidate.operation->site), first_saved(candidate));
      if (names_its_node(failure, candidate)) nodes.add(candidate, failure.process->record);
    }
  }
  std::string text = keys.text();
  if (!text.empty() && !nodes.text().empty()) text += ',';
  return {text + nodes.text(), "the failing kernel, to save its launch"};
}

RerunWindow window_of_sites(const session::Session& session,
                            const std::function<bool(const session::Process&, const session::Site&)>& wanted) {
  Keys keys;
  for (const session::Process& process : session.processes) {
    const SiteKeys sites(process.record);
    for (std::uint32_t id = 1; id <= process.record.sites.size(); ++id) {
      if (wanted(process, process.record.sites[id - 1])) keys.add(sites.of_site(id), 1);
    }
  }
  return {keys.text(), fmt::format("{} call site{}", keys.size(), keys.size() == 1 ? "" : "s")};
}

}  // namespace cudadiag::analyse
