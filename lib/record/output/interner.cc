#include "record/output/interner.h"

#include <algorithm>
#include <cstring>

#include "wire/hash.h"
#include "wire/name_patterns.h"

namespace cudadiag::record {

using wire::hash_bytes;
using wire::mix;

namespace intern = wire::intern;
namespace site_key = wire::site_key;
using intern::Tag;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}

// Truncates the name, because the names of templates can be arbitrarily long.
std::string_view cut(std::string_view text) { return {text.data(), text.size() < 8192 ? text.size() : 8192}; }

}  // namespace

void Interner::attach(AreaMap& area) { area_ = &area; }

std::uint32_t Interner::append(const Entry& entry) {
  const auto& [tag, count, first, second] = entry;
  const std::size_t size = (intern::kHeaderSize + first.size() + second.size() + 7) / 8 * 8;
  const std::uint64_t used = wire::load(area_->header(), wire::area::kInternUsed);
  if (size > intern::kMaxEntry || used + size > area_->region_size(wire::area::Region::intern)) {
    area_->count(wire::area::kDroppedInterns);
    return 0;
  }
  std::byte* to = area_->region(wire::area::Region::intern) + used;
  wire::store(to, intern::kSize, static_cast<std::uint32_t>(size));
  wire::store(to, intern::kTag, static_cast<std::uint16_t>(tag));
  wire::store(to, intern::kCount, count);
  std::memcpy(to + intern::kHeaderSize, first.data(), first.size());
  if (!second.empty()) std::memcpy(to + intern::kHeaderSize + first.size(), second.data(), second.size());
  wire::store_release(area_->header(), wire::area::kInternUsed, used + size);
  return ++next_id_[static_cast<std::size_t>(tag)];
}

template <std::size_t N, typename Describe>
std::uint32_t Interner::add(IdTable<N>& table, std::uint64_t key, const Entry& entry, Describe describe) {
  const LockGuard lock(mutex_);
  if (const std::uint32_t id = table.find(key)) return id;
  const std::uint32_t id = append(entry);
  if (id != 0) describe(id);
  if (id != 0 && !table.insert(key, id)) area_->count(wire::area::kDroppedInterns);
  return id;
}

std::uint32_t Interner::string(std::string_view text) {
  text = cut(text);
  const std::uint64_t key = hash_bytes(text.data(), text.size());
  if (const std::uint32_t id = strings_.find(key)) return id;
  return add(strings_, key, {Tag::string, static_cast<std::uint16_t>(text.size()), bytes_of(text)});
}

std::uint32_t Interner::module(std::uint64_t key, const ModuleImage& image) {
  struct Payload {
    std::uint64_t bias, begin, end;
    std::uint32_t path, zero;
  } const payload = {image.bias, image.begin, image.end, string(image.path), 0};
  return add(modules_, key,
             {Tag::module, static_cast<std::uint16_t>(image.build_id.size()), bytes_of(payload), image.build_id},
             [&](std::uint32_t id) {
               if (keeps_keys_) module_keys_.set(id, site_key::of_module(image.path, image.build_id));
             });
}

std::uint32_t Interner::function(std::string_view mangled) {
  const std::uint64_t key = hash_bytes(mangled.data(), mangled.size());
  if (const std::uint32_t id = functions_.find(key)) return id;
  const std::uint32_t payload[2] = {string(mangled), 0};
  return add(functions_, key, {Tag::function, 0, bytes_of(payload)}, [&](std::uint32_t id) {
    if (id < checking_functions_.size()) checking_functions_[id] = wire::checks_its_data(mangled);
    if (wire::is_of_nccl(mangled)) knows_nccl_.store(true, std::memory_order_relaxed);
    if (keeps_keys_) function_keys_.set(id, site_key::of_function(cut(mangled)));
  });
}

std::uint32_t Interner::node_type(std::string_view mangled) {
  const std::uint32_t payload[2] = {string(mangled), 0};
  return add(node_types_, hash_bytes(mangled.data(), mangled.size()), {Tag::node_type, 0, bytes_of(payload)});
}

std::uint32_t Interner::code(std::uint64_t key, const CodeObject& code) {
  const std::uint32_t payload[4] = {string(code.file), string(code.qualified_name), code.first_line, code.python_minor};
  return add(
      codes_, key,
      {Tag::code, static_cast<std::uint16_t>(code.line_table.size()), bytes_of(payload), bytes_of(code.line_table)},
      [&](std::uint32_t id) {
        if (!keeps_keys_) return;
        code_keys_.set(id, site_key::of_code(code.file, code.qualified_name, code.first_line, code.line_table));
      });
}

namespace {

std::uint16_t frame_count(std::size_t frames, bool truncated) {
  return static_cast<std::uint16_t>(frames | (truncated ? intern::kTruncated : 0));
}

}  // namespace

std::uint32_t Interner::python_stack(std::uint64_t key, std::span<const PythonFrame> frames, bool truncated) {
  return add(python_stacks_, key, {Tag::python, frame_count(frames.size(), truncated), std::as_bytes(frames)},
             [&](std::uint32_t id) {
               if (!keeps_keys_) return;
               site_key::Stack stack;
               for (const PythonFrame& frame : frames) stack.add_python(code_keys_.of(frame.code), frame.offset);
               python_keys_.set(id, stack.key());
             });
}

std::uint32_t Interner::native_stack(std::uint64_t addresses, std::uint32_t stamp, std::span<const NativeFrame> frames,
                                     bool truncated) {
  const auto bytes = std::as_bytes(frames);
  const std::uint64_t key =
      mix(hash_bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size()), truncated ? 1 : 0) | 1;
  const std::uint32_t id =
      add(native_stacks_, key, {Tag::native, frame_count(frames.size(), truncated), bytes}, [&](std::uint32_t made) {
        if (!keeps_keys_) return;
        site_key::Stack stack;
        for (const NativeFrame& frame : frames) stack.add_native(module_keys_.of(frame.module), frame.address);
        native_keys_.set(made, stack.key());
      });
  const LockGuard lock(mutex_);
  if (id != 0) native_addresses_.put(addresses, {id, stamp});
  return id;
}

std::uint32_t Interner::site(std::uint64_t key, std::uint32_t python, std::uint32_t native, std::uint32_t function,
                             wire::operation::Kind kind, std::uint16_t thread) {
  if (const std::uint32_t id = sites_.find(key)) return id;
  const std::uint32_t payload[4] = {python, native, function,
                                    static_cast<std::uint32_t>(kind) | std::uint32_t{thread} << 16};
  return add(sites_, key, {Tag::site, 0, bytes_of(payload)});
}

std::uint32_t Interner::graph(std::uint32_t site, std::span<const std::byte> nodes, std::span<const GraphEdge> edges) {
  const auto edge_bytes = std::as_bytes(edges);
  const std::uint64_t key = mix(mix(hash_bytes(reinterpret_cast<const char*>(nodes.data()), nodes.size()),
                                    hash_bytes(reinterpret_cast<const char*>(edge_bytes.data()), edge_bytes.size())),
                                site) |
                            1;
  const LockGuard lock(mutex_);
  if (const std::uint32_t id = graphs_.find(key)) return id;
  constexpr std::size_t kChunk = intern::kMaxEntry / 2;
  const std::size_t chunks = nodes.size() / kChunk + edge_bytes.size() / kChunk + 2;
  const std::size_t size = nodes.size() + edge_bytes.size() + (chunks + 1) * (intern::kHeaderSize + 16);
  if (graph_bytes_ + size > kGraphBytes ||
      wire::load(area_->header(), wire::area::kInternUsed) + size > area_->region_size(wire::area::Region::intern)) {
    return 0;
  }
  graph_bytes_ += size;
  const std::uint32_t payload[4] = {site, static_cast<std::uint32_t>(nodes.size() / intern::kGraphNodeSize),
                                    static_cast<std::uint32_t>(edges.size()), 0};
  const std::uint32_t id = append({Tag::graph, 0, bytes_of(payload)});
  const auto append_chunks = [&](Tag tag, std::span<const std::byte> bytes, std::size_t item) {
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
      const auto chunk = bytes.subspan(at, std::min(kChunk, bytes.size() - at));
      const std::uint32_t head[2] = {id, tag == Tag::graph_nodes ? static_cast<std::uint32_t>(at / item) : 0};
      append({tag, static_cast<std::uint16_t>(chunk.size() / item), bytes_of(head), chunk});
    }
  };
  append_chunks(Tag::graph_nodes, nodes, intern::kGraphNodeSize);
  append_chunks(Tag::graph_edges, edge_bytes, sizeof(GraphEdge));
  graphs_.insert(key, id);
  return id;
}

std::uint32_t Interner::changed_graph(std::uint32_t site, std::uint32_t before, std::span<const GraphChange> changes) {
  const auto bytes = std::as_bytes(changes);
  const std::uint64_t key =
      mix(mix(hash_bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size()), site), before) | 1;
  const LockGuard lock(mutex_);
  if (const std::uint32_t id = graphs_.find(key)) return id;
  const std::size_t size = bytes.size() + 2 * (intern::kHeaderSize + 16);
  if (change_bytes_ + size > kChangeBytes ||
      wire::load(area_->header(), wire::area::kInternUsed) + size > area_->region_size(wire::area::Region::intern)) {
    return 0;
  }
  change_bytes_ += size;
  const std::uint32_t payload[4] = {site, static_cast<std::uint32_t>(changes.size()), 0, before};
  const std::uint32_t id = append({Tag::graph, 0, bytes_of(payload)});
  const std::uint32_t head[2] = {id, 0};
  append({Tag::graph_changes, static_cast<std::uint16_t>(changes.size()), bytes_of(head), bytes});
  graphs_.insert(key, id);
  return id;
}

void Interner::arguments(std::uint16_t count, std::span<const std::byte> head, std::span<const std::byte> values) {
  const LockGuard lock(mutex_);
  append({Tag::arguments, count, head, values});
}

void Interner::stale_pointer(std::uint16_t thread, std::uint64_t serial, const StalePointer& stale) {
  const struct {
    std::uint64_t serial;
    std::uint32_t thread, node;
    std::uint64_t address, allocation;
    std::uint32_t offset, flags;
  } payload = {serial, thread, stale.node, stale.address, stale.allocation, stale.offset, stale.flags};
  static_assert(sizeof payload == 40);
  const LockGuard lock(mutex_);
  if (next_id_[static_cast<std::size_t>(Tag::stale_pointer)] < kMostStalePointers) {
    append({Tag::stale_pointer, 0, {reinterpret_cast<const std::byte*>(&payload), sizeof payload}});
  }
}

void Interner::add_pair(IdTable<1024>& table, Tag tag, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t payload[2] = {first, second};
  add(table, mix(mix(wire::kHashSeed, first), second) | 1, {tag, 0, bytes_of(payload)});
}

void Interner::note(std::string_view code, std::string_view text) {
  add_pair(notes_, Tag::note, string(code), string(text));
}

void Interner::property(std::string_view key, std::string_view value) {
  add_pair(properties_, Tag::property, string(key), string(value));
}

}  // namespace cudadiag::record
