// Decodes the intern heap into the tables of a ProcessRecord.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "session/area_reader.h"
#include "wire/bytes.h"
#include "wire/intern.h"

namespace cudadiag::session {
namespace {

using wire::intern::Tag;

template <typename T>
T number(std::span<const std::byte> payload, std::size_t offset) {
  T value;
  std::memcpy(&value, payload.data() + offset, sizeof value);
  return value;
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class HeapReader {
 public:
  HeapReader(std::span<const std::byte> heap, ProcessRecord& record) : heap_(heap), record_(record) {}

  InternStrings read() {
    while (!heap_.empty()) {
      if (heap_.size() < wire::intern::kHeaderSize) return give_up();
      const std::uint32_t size = wire::load(heap_.data(), wire::intern::kSize);
      if (size < wire::intern::kHeaderSize || size % 8 != 0 || size > heap_.size()) return give_up();
      const auto tag = static_cast<Tag>(wire::load(heap_.data(), wire::intern::kTag));
      const std::uint16_t count = wire::load(heap_.data(), wire::intern::kCount);
      entry(tag, count, heap_.subspan(wire::intern::kHeaderSize, size - wire::intern::kHeaderSize));
      heap_ = heap_.subspan(size);
    }
    finish_graphs();
    return std::move(strings_);
  }

 private:
  struct GraphSize {
    std::uint32_t nodes, edges;
  };

  // Stops reading, because the next entry cannot be found without a valid size.
  InternStrings give_up() {
    ++record_.damaged;
    finish_graphs();
    return std::move(strings_);
  }

  // An invalid entry becomes an empty one, so that later entries keep their ids.
  void entry(Tag tag, std::uint16_t count, std::span<const std::byte> payload) {
    switch (tag) {
      case Tag::string:
        return read_string(count, payload);
      case Tag::module:
        return read_module(count, payload);
      case Tag::function:
        return read_name(record_.functions, payload);
      case Tag::code:
        return read_code(count, payload);
      case Tag::python:
        return read_python(count, payload);
      case Tag::native:
        return read_native(count, payload);
      case Tag::site:
        return read_site(payload);
      case Tag::note:
        return read_note(payload);
      case Tag::property:
        return read_property(payload);
      case Tag::graph:
        return read_graph(payload);
      case Tag::graph_nodes:
        return read_graph_nodes(count, payload);
      case Tag::graph_edges:
        return read_graph_edges(count, payload);
      case Tag::graph_changes:
        return read_graph_changes(count, payload);
      case Tag::stale_pointer:
        return read_stale_pointer(payload);
      case Tag::arguments:
        return read_arguments(count, payload);
      case Tag::node_type:
        return read_name(record_.node_types, payload);
    }
    ++record_.damaged;
  }

  bool has(std::span<const std::byte> payload, std::size_t bytes) {
    if (payload.size() >= bytes) return true;
    ++record_.damaged;
    return false;
  }

  std::string string(std::uint32_t id) {
    std::string out;
    if (!strings_.copy(id, out) && id != 0) ++record_.damaged;
    return out;
  }

  template <typename T>
  std::uint32_t reference(const std::vector<T>& table, std::uint32_t id) {
    if (id <= table.size()) return id;
    ++record_.damaged;
    return 0;
  }

  void read_string(std::uint16_t count, std::span<const std::byte> payload) {
    strings_.add(has(payload, count) ? text(payload.first(count)) : std::string());
  }

  void read_module(std::uint16_t count, std::span<const std::byte> payload) {
    Module& module = record_.modules.emplace_back();
    if (!has(payload, 32u + count)) return;
    module.bias = number<std::uint64_t>(payload, 0);
    module.begin = number<std::uint64_t>(payload, 8);
    module.end = number<std::uint64_t>(payload, 16);
    module.path = string(number<std::uint32_t>(payload, 24));
    module.build_id = base::hex_of(payload.subspan(32, count));
  }

  void read_name(std::vector<std::string>& names, std::span<const std::byte> payload) {
    std::string& name = names.emplace_back();
    if (has(payload, 4)) name = string(number<std::uint32_t>(payload, 0));
  }

  void read_code(std::uint16_t count, std::span<const std::byte> payload) {
    Code& code = record_.codes.emplace_back();
    if (!has(payload, 16u + count)) return;
    code.file = string(number<std::uint32_t>(payload, 0));
    code.qualified_name = string(number<std::uint32_t>(payload, 4));
    code.first_line = number<std::uint32_t>(payload, 8);
    code.python_minor = number<std::uint32_t>(payload, 12);
    code.line_table = text(payload.subspan(16, count));
  }

  void read_python(std::uint16_t count, std::span<const std::byte> payload) {
    auto& stack = record_.python_stacks.emplace_back();
    const std::size_t frames = count & ~wire::intern::kTruncated;
    stack.truncated = (count & wire::intern::kTruncated) != 0;
    if (!has(payload, 8 * frames)) return;
    for (std::size_t i = 0; i < frames; ++i) {
      stack.frames.push_back(
          {reference(record_.codes, number<std::uint32_t>(payload, 8 * i)), number<std::uint32_t>(payload, 8 * i + 4)});
    }
  }

  void read_native(std::uint16_t count, std::span<const std::byte> payload) {
    auto& stack = record_.native_stacks.emplace_back();
    const std::size_t frames = count & ~wire::intern::kTruncated;
    stack.truncated = (count & wire::intern::kTruncated) != 0;
    if (!has(payload, 16 * frames)) return;
    for (std::size_t i = 0; i < frames; ++i) {
      stack.frames.push_back({reference(record_.modules, number<std::uint32_t>(payload, 16 * i)),
                              number<std::uint64_t>(payload, 16 * i + 8)});
    }
  }

  void read_site(std::span<const std::byte> payload) {
    Site& site = record_.sites.emplace_back();
    if (!has(payload, 16)) return;
    site.python = reference(record_.python_stacks, number<std::uint32_t>(payload, 0));
    site.native = reference(record_.native_stacks, number<std::uint32_t>(payload, 4));
    site.function = reference(record_.functions, number<std::uint32_t>(payload, 8));
    const auto kind_and_thread = number<std::uint32_t>(payload, 12);
    site.kind = static_cast<wire::operation::Kind>(kind_and_thread & 0xff);
    site.thread = static_cast<std::uint16_t>(kind_and_thread >> 16);
  }

  void read_note(std::span<const std::byte> payload) {
    if (!has(payload, 8)) return;
    std::string code = string(number<std::uint32_t>(payload, 0));
    record_.notes.push_back({std::move(code), string(number<std::uint32_t>(payload, 4))});
  }

  void read_property(std::span<const std::byte> payload) {
    if (!has(payload, 8)) return;
    std::string key = string(number<std::uint32_t>(payload, 0));
    record_.properties[std::move(key)] = string(number<std::uint32_t>(payload, 4));
  }

  void read_graph(std::span<const std::byte> payload) {
    Graph& graph = record_.graphs.emplace_back();
    GraphSize& size = graph_sizes_.emplace_back();
    if (!has(payload, 16)) return;
    graph.site = reference(record_.sites, number<std::uint32_t>(payload, 0));
    size = {number<std::uint32_t>(payload, 4), number<std::uint32_t>(payload, 8)};
    // A change must refer to a graph that was described earlier.
    const auto before = number<std::uint32_t>(payload, 12);
    const Graph* from = before < record_.graphs.size() ? by_id(record_.graphs, before) : nullptr;
    if (from != nullptr && from->changed_from == 0) graph.changed_from = before;
    if (graph.changed_from != before) ++record_.damaged, size = {1, 1};
  }

  // Returns the graph that the entry's parts belong to. Returns null if the graph is unknown, or if the entry is too
  // short for `items` parts.
  Graph* continued(std::span<const std::byte> payload, std::size_t items, std::size_t item_size) {
    if (!has(payload, 8 + items * item_size)) return nullptr;
    const auto id = number<std::uint32_t>(payload, 0);
    if (reference(record_.graphs, id) != 0) return &record_.graphs[id - 1];
    if (id == 0) ++record_.damaged;
    return nullptr;
  }

  void read_graph_nodes(std::uint16_t count, std::span<const std::byte> payload) {
    namespace i = wire::intern;
    Graph* graph = continued(payload, count, i::kGraphNodeSize);
    if (graph == nullptr) return;
    if (number<std::uint32_t>(payload, 4) != graph->nodes.size()) return void(++record_.damaged);
    for (std::size_t at = 0; at < count; ++at) {
      const std::byte* from = payload.data() + 8 + at * i::kGraphNodeSize;
      GraphNode& node = graph->nodes.emplace_back();
      node.site = reference(record_.sites, wire::load(from, i::kNodeSite));
      node.function = reference(record_.functions, wire::load(from, i::kNodeFunction));
      node.grid = {wire::load(from, i::kNodeGridX), wire::load(from, i::kNodeGridY), wire::load(from, i::kNodeGridZ)};
      node.block = {wire::load(from, i::kNodeBlockX), wire::load(from, i::kNodeBlockY),
                    wire::load(from, i::kNodeBlockZ)};
      node.shared_bytes = wire::load(from, i::kNodeSharedBytes);
      node.type = wire::load(from, i::kNodeType);
      // A node of a child graph follows its parent, the node that contains the child graph. Rejects any other order,
      // because parents could then form a cycle.
      const std::uint32_t parent = wire::load(from, i::kNodeParent);
      node.parent = parent < graph->nodes.size() ? parent : 0;
      if (node.parent != parent) ++record_.damaged;
    }
  }

  void read_graph_edges(std::uint16_t count, std::span<const std::byte> payload) {
    Graph* graph = continued(payload, count, 8);
    for (std::size_t at = 0; graph != nullptr && at < count; ++at) {
      graph->edges.push_back({number<std::uint32_t>(payload, 8 + 8 * at), number<std::uint32_t>(payload, 12 + 8 * at)});
    }
  }

  void read_graph_changes(std::uint16_t count, std::span<const std::byte> payload) {
    Graph* graph = continued(payload, count, 8);
    for (std::size_t at = 0; graph != nullptr && at < count; ++at) {
      graph->changes.push_back({number<std::uint32_t>(payload, 8 + 8 * at),
                                reference(record_.sites, number<std::uint32_t>(payload, 12 + 8 * at))});
    }
  }

  void read_arguments(std::uint16_t count, std::span<const std::byte> payload) {
    constexpr std::size_t kHead = 16;
    if (!has(payload, kHead + std::size_t{8} * count)) return;
    Arguments arguments;
    arguments.serial = number<std::uint64_t>(payload, 0);
    arguments.thread = number<std::uint32_t>(payload, 8);
    arguments.flags = number<std::uint32_t>(payload, 12);
    auto values = payload.subspan(kHead + std::size_t{8} * count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = number<std::uint32_t>(payload, kHead + 8 * i + 4);
      if (!has(values, size)) return;
      arguments.parameters.push_back({number<std::uint32_t>(payload, kHead + 8 * i), text(values.first(size))});
      values = values.subspan(std::min((size + 7) / 8 * 8, values.size()));
    }
    record_.arguments.push_back(std::move(arguments));
  }

  void read_stale_pointer(std::span<const std::byte> payload) {
    // No recorder reports this many pointers. The limit is low because each pointer costs a search through all
    // operations.
    constexpr std::size_t kMostPointers = 1024;
    if (!has(payload, 40) || record_.stale_pointers.size() == kMostPointers) return;
    record_.stale_pointers.push_back({number<std::uint64_t>(payload, 0), number<std::uint32_t>(payload, 8),
                                      number<std::uint32_t>(payload, 12), number<std::uint32_t>(payload, 32),
                                      number<std::uint64_t>(payload, 16), number<std::uint64_t>(payload, 24),
                                      (number<std::uint32_t>(payload, 36) & wire::intern::kInStructure) != 0});
  }

  void finish_changed_graph(Graph& graph, const GraphSize& size) {
    const std::size_t nodes = record_.graphs[graph.changed_from - 1].nodes.size();
    record_.damaged += std::erase_if(
        graph.changes, [&](const GraphChange& change) { return change.node >= nodes || change.site == 0; });
    std::ranges::stable_sort(graph.changes, {}, &GraphChange::node);
    const auto doubled = std::unique(graph.changes.begin(), graph.changes.end(),
                                     [](const GraphChange& a, const GraphChange& b) { return a.node == b.node; });
    record_.damaged += static_cast<std::size_t>(graph.changes.end() - doubled);
    graph.changes.erase(doubled, graph.changes.end());
    graph.whole = graph.changes.size() == size.nodes;
  }

  void finish_graphs() {
    for (std::size_t i = 0; i < record_.graphs.size(); ++i) {
      Graph& graph = record_.graphs[i];
      if (graph.changed_from != 0) {
        finish_changed_graph(graph, graph_sizes_[i]);
        continue;
      }
      const std::size_t strayed = std::erase_if(graph.edges, [&](const GraphEdge& edge) {
        return edge.from >= graph.nodes.size() || edge.to >= graph.nodes.size();
      });
      record_.damaged += strayed;
      graph.whole = graph.nodes.size() == graph_sizes_[i].nodes && graph.edges.size() == graph_sizes_[i].edges;
    }
  }

  std::span<const std::byte> heap_;
  std::vector<GraphSize> graph_sizes_;
  ProcessRecord& record_;
  InternStrings strings_;
};

}  // namespace

bool InternStrings::copy(std::uint32_t id, std::string& out) {
  if (id == 0 || id > strings_.size()) return false;
  const std::string& text = strings_[id - 1];
  if (copied_ + text.size() > kBudget) return false;
  copied_ += text.size();
  out = text;
  return true;
}

InternStrings read_intern_heap(std::span<const std::byte> heap, ProcessRecord& record) {
  return HeapReader(heap, record).read();
}

}  // namespace cudadiag::session
