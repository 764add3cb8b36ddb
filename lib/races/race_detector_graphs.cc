// Collects the memory accesses of a graph's nodes when the graph is created, and applies them when it is launched.
#include <algorithm>
#include <utility>

#include "races/race_detector.h"
#include "wire/operation.h"
#include "wire/race_record.h"

namespace cudadiag::races {

namespace graph_node = wire::graph_node;
namespace operation = wire::operation;
namespace race = wire::race;
using operation::Kind;

namespace {

// kMostNodes exceeds the number of nodes that the recorder reports. kMostGraphParts limits the nodes, edges and
// accesses of all graphs together.
constexpr std::size_t kMostGraphs = 4096, kMostNodes = 1u << 12, kMostAccesses = 1u << 16;
constexpr std::size_t kMostGraphParts = 1u << 21;
constexpr std::size_t kMostPairs = 20000;  // limits the pairs of accesses to compare in one graph

bool reaches(const Graph& graph, std::uint32_t from, std::uint32_t to) {
  std::vector<bool> seen(graph.successors.size());
  std::vector<std::uint32_t> open{from};
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    if (node == to) return true;
    if (node >= seen.size() || seen[node]) continue;
    seen[node] = true;
    open.insert(open.end(), graph.successors[node].begin(), graph.successors[node].end());
  }
  return false;
}

bool are_parallel(const Graph& graph, std::uint32_t a, std::uint32_t b) {
  return a != b && !reaches(graph, a, b) && !reaches(graph, b, a);
}

}  // namespace

void Detector::graph_part(const std::byte* record, const Pending& pending) {
  const auto kind = static_cast<Kind>(wire::load(record, operation::kKind));
  const std::uint64_t exec = wire::load(record, race::kWord0);
  if (kind == Kind::graph_made) return graph_made(record, exec);
  const auto known = graphs_.find(exec);
  if (known == graphs_.end()) return;
  kind == Kind::graph_edges ? graph_edges(record, known->second) : graph_node(record, known->second, pending);
}

void Detector::graph_gone(std::uint64_t exec) {
  order_.graph_gone(exec);
  const auto known = graphs_.find(exec);
  if (known == graphs_.end()) return;
  graph_parts_ -= known->second.parts;
  graphs_.erase(known);
}

void Detector::graph_made(const std::byte* record, std::uint64_t exec) {
  if (wire::load(record, race::kWord2) == race::kGone) return graph_gone(exec);
  if (graphs_.size() >= kMostGraphs) forget_graphs();
  const auto [place, fresh] = graphs_.try_emplace(exec);
  Graph& made = place->second;
  // A graph whose creation was not recorded may signal, or wait for, anything.
  if (fresh) made.order = race::kTells | race::kWaits;
  graph_parts_ -= made.parts;
  const std::uint64_t order = wire::load(record, race::kWord2), before = made.order;
  made = {};
  made.successors.resize(std::min<std::uint64_t>(wire::load(record, race::kWord1), kMostNodes));
  made.order = order == 0 && made.successors.empty() ? before : order;
  made.roots.assign(made.successors.size(), true);
  made.in_child.resize(made.successors.size());
  count_graph_parts(made, made.successors.size());
}

void Detector::graph_edges(const std::byte* record, Graph& graph) {
  for (const std::uint64_t pair :
       {wire::load(record, race::kWord1), wire::load(record, race::kWord2), wire::load(record, race::kWord3)}) {
    const std::uint64_t from = (pair & 0xffffffff) - 1, to = (pair >> 32) - 1;
    if (from >= graph.successors.size() || to >= graph.successors.size()) continue;
    graph.successors[from].push_back(static_cast<std::uint32_t>(to));
    graph.roots[to] = false;
  }
  count_graph_parts(graph, 3);
}

// Reads a node's record. For a kernel, the preceding records contain the parameter words. For a copy, a memset or an
// event node, the record contains the addresses or the event.
void Detector::graph_node(const std::byte* record, Graph& graph, const Pending& pending) {
  const std::uint32_t node = wire::load(record, race::kNode);
  if (node >= graph.successors.size() || graph.accesses.size() >= kMostAccesses) return;
  // The nodes are recorded in their order. A later record replaces an earlier one: the node has new parameters.
  if (!graph.accesses.empty() && graph.accesses.back().node > node) {
    std::erase_if(graph.accesses, [&](const Access& access) { return access.node == node + 1; });
    std::erase_if(graph.freed, [&](const auto& freed) { return freed.first.node == node + 1; });
  }
  const std::uint32_t type = wire::load(record, race::kNodeType) & ~race::kInChild;
  graph.in_child[node] = (wire::load(record, race::kNodeType) & race::kInChild) != 0;
  if (type == graph_node::kEventWait || type == graph_node::kEventRecord) {
    const std::uint64_t event = wire::load(record, race::kWord1);
    if (event != 0) (type == graph_node::kEventWait ? graph.waited : graph.recorded).push_back(event);
    return count_graph_parts(graph, 1);
  }
  Access access;
  access.site = wire::load(record, operation::kSite);
  access.node = node + 1;
  access.words = launch_words(pending);
  for (const Word& word : pending.words) {
    access.begin = word.value;
    access.function = word.function;
    access.parameter = word.offset;
    access.may_end = may_end(word, pending);
    graph.accesses.push_back(access);
  }
  access.function = access.parameter = access.words = 0;
  access.may_end = false;
  const std::uint64_t destination = wire::load(record, race::kWord1), source = wire::load(record, race::kWord2);
  const std::uint64_t bytes = wire::load(record, race::kWord3);
  const Rows& rows = pending.rows;
  access.what = type == graph_node::kCopy ? What::copy : What::memset;
  if (source != 0) {
    graph.accesses.push_back(with_place(access, source, {rows.source_pitch, bytes, rows.width, rows.rows}, Mode::read));
  }
  if (destination != 0) {
    graph.accesses.push_back(
        with_place(access, destination, {rows.destination_pitch, bytes, rows.width, rows.rows}, Mode::write));
  }
  count_graph_parts(graph, pending.words.size() + 2);
}

void Detector::count_graph_parts(Graph& graph, std::size_t count) {
  graph.parts += count;
  graph_parts_ += count;
  if (graph_parts_ > kMostGraphParts) forget_graphs();
}

void Detector::forget_graphs() {
  graphs_.clear();
  graph_parts_ = 0;
}

// ---- memory that has ended

namespace {

constexpr std::size_t kMostEnded = 256;  // limits the memory of one graph, and the list of what was found

session::Work work_of(std::uint32_t type) {
  return type == graph_node::kCopy     ? session::Work::copy
         : type == graph_node::kMemset ? session::Work::memset
                                       : session::Work::host_function;
}

session::EndedMemory::How how_of(std::uint64_t word) {
  using How = session::EndedMemory::How;
  const auto ended = static_cast<race::Ended>(word & 0xff);
  return ended == race::Ended::returned      ? How::returned
         : ended == race::Ended::with_thread ? How::thread_ended
                                             : How::freed;
}

}  // namespace

void Detector::note_ended(const std::byte* record, Pending& pending) {
  if (pending.ended.size() == kMostEnded) return;
  const std::uint64_t how = wire::load(record, race::kWord2);
  session::EndedMemory& ended = pending.ended.emplace_back();
  ended.access.site = wire::load(record, operation::kSite);
  ended.access.node = wire::load(record, race::kNode) + 1;
  ended.access.what = work_of(wire::load(record, race::kNodeType) & ~race::kFlagsOfNode);
  ended.access.mode = (how >> 32 & race::kIsSource) != 0 ? session::RaceMode::read : session::RaceMode::write;
  ended.access.begin = ended.access.end = wire::load(record, race::kWord1);
  ended.how = how_of(how);
  ended.frame = static_cast<std::uint32_t>(how >> 40);
  ended.below = wire::load(record, race::kWord3);
}

void Detector::add_ended(session::EndedMemory ended) {
  for (session::EndedMemory& known : ended_) {
    if (known.access.site == ended.access.site && known.how == ended.how) return void(++known.times);
  }
  if (ended_.size() < kMostEnded) ended_.push_back(std::move(ended));
}

// Reports each end only at the first launch after it.
void Detector::add_ended(Graph& graph, const Access& launch, const Pending& pending) {
  for (session::EndedMemory ended : pending.ended) {
    for (const Access& access : graph.accesses) {
      const bool meant = access.node == ended.access.node && access.begin == ended.access.begin;
      if (meant) ended.access.end = access.end();
    }
    ended.access.stream = order_.traits(launch.stream).handle;
    ended.access.thread = launch.thread;
    ended.access.ticks = launch.ticks;
    ended.launched = launch.site;
    add_ended(std::move(ended));
  }
  for (auto& [access, site] : std::exchange(graph.freed, {})) {
    session::EndedMemory ended;
    access.stream = launch.stream;
    access.thread = launch.thread;
    access.ticks = launch.ticks;
    ended.access = stored_access(access, order_);
    ended.launched = launch.site;
    ended.freed = site;
    add_ended(std::move(ended));
  }
}

void Detector::graph(const std::byte* record, StreamNumber stream, const Pending& pending) {
  const std::uint64_t exec = wire::load(record, operation::kArgument);
  Graph anything;
  anything.order = race::kTells | race::kWaits;
  const auto known = graphs_.find(exec);
  Graph& graph = known == graphs_.end() ? anything : known->second;
  if ((graph.order & race::kWaits) != 0) order_.stranger_waited(stream);
  for (const std::uint64_t event : graph.waited) order_.event_waited(event, stream);
  const Moment at = order_.graph_launched(exec, stream);
  const Access launch = by_call(record, at, stream);
  add_ended(graph, launch, pending);
  if (pending.watched != 0) watch_graph(graph, launch, pending.watched);
  graph_accesses(graph, record, at, stream);
  const auto any_kernel = [&](const auto& test) {
    return std::ranges::any_of(graph.accesses,
                               [&](const Access& access) { return access.what == What::kernel && test(access); });
  };
  const auto may_write = [&](const Access& access) { return launch_bytes_.may_write_elsewhere(access.function); };
  if (known == graphs_.end() || any_kernel(may_write)) {
    host_writes_.writes_anywhere(at, stream);
  } else if (graph.order != 0 || any_kernel([&](const Access& access) { return is_of_host(access.begin); })) {
    host_writes_.mediator(at, stream);
  }
  for (const std::uint64_t event : graph.recorded) order_.event_recorded(event, stream);
  if ((graph.order & race::kTells) != 0) order_.host_told(stream);
}

void Detector::graph_accesses(Graph& graph, const std::byte* record, Moment at, StreamNumber stream) {
  for (Access each : graph.accesses) {
    if (memory_.at(each.begin) == nullptr) continue;
    each.at = at;
    each.stream = stream;
    each.thread = wire::load(record, operation::kThread);
    each.ticks = wire::load(record, operation::kTicks);
    add(each);
  }
  if (gap_until_ == 0 && !std::exchange(graph.looked_into, true)) inside_graph(graph, at, stream);
}

// Compares the branches of a graph with each other. Done once, because every launch has the same branches.
void Detector::inside_graph(const Graph& graph, Moment at, StreamNumber stream) {
  const auto forks = [](const auto& successors) { return successors.size() > 1; };
  const auto roots = std::ranges::count(graph.roots, true);
  const bool linear = roots <= 1 && std::ranges::none_of(graph.successors, forks);
  if (linear) return;
  std::vector<Access> accesses = graph.accesses;
  // Skips a child graph's nodes, because the driver does not report which node contains them.
  std::erase_if(accesses, [&](const Access& access) { return graph.in_child[access.node - 1]; });
  std::ranges::sort(accesses, {}, &Access::begin);
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    accesses[i].at = at;
    accesses[i].stream = stream;
    if (memory_.at(accesses[i].begin) == nullptr) continue;
    for (std::size_t j = i + 1; j < accesses.size() && accesses[j].begin < accesses[i].end(); ++j) {
      if (++pairs > kMostPairs) return;
      accesses[j].at = at;
      accesses[j].stream = stream;
      if (!touches(accesses[i], accesses[j])) continue;
      if (!are_parallel(graph, accesses[i].node - 1, accesses[j].node - 1)) continue;
      history_.meet(accesses[i], accesses[j]);
      note_homes();
    }
  }
}

}  // namespace cudadiag::races
