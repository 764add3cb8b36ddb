// Handles records of memory: allocations and frees, the bytes of textures, surfaces and arrays that kernels and copies
// use, and copies whose source the recorder watches.
#include <algorithm>
#include <cstring>
#include <utility>

#include "races/race_detector.h"
#include "wire/operation.h"
#include "wire/race_record.h"
#include "wire/tables.h"

namespace cudadiag::races {

namespace operation = wire::operation;
namespace race = wire::race;

void Detector::memory_made(const std::byte* record, bool has_stream, StreamNumber stream) {
  const std::uint64_t begin = wire::load(record, race::kWord0), bytes = wire::load(record, race::kWord1);
  if (bytes == 0 || begin + bytes < begin) return;
  const auto kind = static_cast<wire::allocation::Kind>(wire::load(record, race::kWord2));
  memory_.made({begin, bytes, wire::load(record, operation::kSite), kind},
               static_cast<std::uint32_t>(wire::load(record, race::kWord3)));
  history_.forget(begin, bytes);
  if (has_stream) add_allocation_or_free(record, stream, What::allocation, {begin, bytes});
}

void Detector::add_allocation_or_free(const std::byte* record, StreamNumber stream, What what, const Memory& memory) {
  Access access;
  access.at = order_.issue(stream);
  access.stream = stream;
  access.site = wire::load(record, operation::kSite);
  access.what = what;
  access.begin = memory.begin;
  access.width = memory.bytes;
  access.mode = Mode::write;
  access.exact = true;
  add(access);
}

void Detector::memory_freed(const std::byte* record, bool has_stream, StreamNumber stream) {
  const std::uint64_t begin = wire::load(record, race::kWord0);
  const Memory* freed = memory_.that_begins_at(begin);
  if (has_stream && freed != nullptr) {
    // Keeps what is known about the memory until its addresses are reused, because other streams may still use the
    // memory.
    return add_allocation_or_free(record, stream, What::free, *freed);
  }
  // Freeing stream-ordered memory does not make the driver wait.
  const bool ordered = freed != nullptr && freed->kind == wire::allocation::Kind::ordered;
  if (wire::load(record, race::kWord2) != 0 && !ordered) {
    order_.context_seen(memory_.context_uid(static_cast<std::uint32_t>(wire::load(record, race::kWord1))));
  }
  if (freed == nullptr) return;
  if (freed->kind == wire::allocation::Kind::pinned) {
    for (auto& [exec, graph] : graphs_) {
      for (const Access& access : graph.accesses) {
        const bool inside = access.begin >= begin && access.begin - begin < freed->bytes;
        if (inside && access.what != What::kernel)
          graph.freed.emplace_back(access, wire::load(record, operation::kSite));
      }
    }
  }
  history_.forget(begin, freed->bytes);
  memory_.freed(begin);
}

using operation::Kind;

namespace {

constexpr std::size_t kMostTensorMaps = 32;  // limit for one launch

}  // namespace

void Detector::note_image(const std::byte* record) {
  if (static_cast<Kind>(wire::load(record, operation::kKind)) == Kind::image_made) {
    return images_.image_made(record, memory_.context_uid(wire::load(record, race::kZeros)));
  }
  if (const auto before = images_.array_made(record)) history_.forget(before->begin, before->bytes());
}

std::vector<Detector::UsedImage> Detector::used_images(const Issued& issued, std::uint32_t function) {
  std::vector<UsedImage> out;
  for (const sass::HandleUse& use : launch_bytes_.handles(function)) {
    std::uint64_t handle = 0;
    if (issued.parameters.size() < use.parameter + sizeof handle) continue;
    std::memcpy(&handle, issued.parameters.data() + use.parameter, sizeof handle);
    const KnownImages::Image* image = images_.find({handle, order_.traits(issued.stream).context, use.surface});
    if (image == nullptr || (image->array == 0 && memory_.at(image->begin) == nullptr)) continue;
    out.push_back({use, *image});
    out.back().image.shape.parameter = use.parameter;
  }
  return out;
}

void Detector::add_image(Access access, const UsedImage& used, const std::vector<sass::ParameterBytes>& bytes) {
  const sass::Image& shape = used.image.shape;
  access.parameter = used.use.parameter;
  access.begin = used.image.begin;
  access.array = used.image.array;
  access.may_end = false;
  access.mode = used.use.mode;
  bool known = false;
  for (const sass::ParameterBytes& each : bytes) {
    const bool this_use = each.parameter == access.parameter && (each.mode == access.mode || each.mode == Mode::none);
    if (!this_use) continue;
    known |= each.all;
    add_rows(access, each);
  }
  if (known) return;
  access.somewhere = true;
  access.width = shape.width;
  access.pitch = shape.pitch;
  access.rows = static_cast<std::uint32_t>(shape.rows * shape.layers);
  if (access.pitch == access.width || access.rows == 1) {
    access.width *= access.rows;
    access.rows = 1;
    access.pitch = 0;
  }
  add(access);
}

void Detector::note_tensor_maps(const std::byte* record, Pending& pending) {
  if (pending.tensor_maps.size() >= kMostTensorMaps) return;
  pending.tensor_maps.push_back({wire::load(record, race::kOffset0), wire::load(record, race::kWord0)});
}

// Returns the known tensor maps among the launch's parameters. A map is known if the program encoded it, and has not
// changed it since.
std::vector<sass::TensorMap> Detector::tensors_of(const Pending& pending) const {
  std::vector<sass::TensorMap> out;
  for (const auto& [offset, hash] : pending.tensor_maps) {
    const sass::TensorMap* known = images_.tensor_map(hash);
    if (known == nullptr) continue;
    out.push_back(*known);
    out.back().parameter = offset;
  }
  return out;
}

// Adds an access for each side of a copy that is in a CUDA array.
void Detector::place_in_arrays(const Access& copy, const Part& part) {
  std::vector<Access> accesses;
  for (const KnownImages::Side& side : part.sides) {
    Access access = copy;
    if (side.is_source) access.when = part.when;
    images_.add_accesses(access, side, accesses);
  }
  for (const Access& access : accesses) add(access);
}

using Memories = wire::allocation::Kind;

bool Detector::is_of_host(std::uint64_t address) const {
  const Memory* memory = memory_.at(address);
  return memory != nullptr && (memory->kind == Memories::pinned || memory->kind == Memories::registered ||
                               memory->kind == Memories::managed);
}

// Call this before adding the copy's own accesses.
void Detector::watch_sources(const Access& copy, const std::vector<Part>& parts, std::uint64_t number) {
  if (gap_until_ != 0) return;
  HostWrites::Watched watched;
  watched.number = number;
  for (const Part& part : parts) {
    if (!is_of_host(part.source)) continue;
    const Rows& rows = part.rows;
    add_source(with_place(copy, part.source, {rows.source_pitch, part.bytes, rows.width, rows.rows}, Mode::read),
               watched);
  }
  if (watched.sources.empty()) return;
  watched.copy = watched.sources.front();
  std::uint64_t end = 0;
  for (const Access& source : watched.sources) {
    watched.copy.begin = std::min(watched.copy.begin, source.begin);
    end = std::max(end, source.end());
  }
  watched.copy.rows = 1;
  watched.copy.pitch = 0;
  watched.copy.width = end - watched.copy.begin;
  host_writes_.watch(std::move(watched));
}

// The source may also be pageable memory, which is not known.
void Detector::add_source(const Access& source, HostWrites::Watched& watched) {
  const Memory* memory = memory_.at(source.begin);
  const std::uint64_t begin = memory == nullptr ? source.begin : memory->begin;
  const std::uint64_t end = memory == nullptr ? source.end() : memory->begin + memory->bytes;
  history_.each_writer(source, begin, end, [&](const Access& writer) {
    (order_.before(writer, source.stream) ? watched.written_before : watched.written_beside) = true;
  });
  watched.sources.push_back(source);
}

// Call this before adding the accesses of the graph's nodes.
void Detector::watch_graph(const Graph& graph, Access launch, std::uint64_t number) {
  if (gap_until_ != 0) return;
  HostWrites::Watched watched;
  watched.number = number;
  watched.of = HostWrites::Watched::Of::graph;
  watched.launched = launch.site;
  const auto of_host = [&](const Access& access) {
    return memory_.at(access.begin) == nullptr || is_of_host(access.begin);
  };
  bool may_wait = (graph.order & race::kWaits) != 0;
  watched.may_change_inside = graph.order != 0;
  for (const Access& each : graph.accesses) {
    if (each.what == What::kernel) {
      may_wait |= is_of_host(each.begin) || launch_bytes_.may_write_elsewhere(each.function);
    } else if (each.mode != Mode::read) {
      watched.may_change_inside |= of_host(each);
    }
  }
  watched.may_change_inside |= may_wait;
  for (const Access& each : graph.accesses) {
    // If the graph waits for the host before the copy, the host may fill the source even after the launch.
    const bool at_once = graph.roots[each.node - 1] && !graph.in_child[each.node - 1];
    const bool is_source = each.what == What::copy && each.mode == Mode::read && of_host(each);
    if (!is_source || (may_wait && !at_once)) continue;
    Access source = each;
    source.at = launch.at;
    source.stream = launch.stream;
    source.thread = launch.thread;
    source.ticks = launch.ticks;
    add_source(source, watched);
  }
  if (watched.sources.empty()) return;
  watched.copy = watched.sources.front();
  host_writes_.watch(std::move(watched));
}

void Detector::source_changed(const std::byte* record) {
  const std::uint16_t what = wire::load(record, race::kOffset0);
  const std::uint64_t begin = wire::load(record, race::kWord1), end = wire::load(record, race::kWord2);
  if (end <= begin || gap_until_ != 0) return;
  const HostWrites::Change change = {wire::load(record, race::kWord0),
                                     begin,
                                     end,
                                     std::min(wire::load(record, race::kWord3), end - begin),
                                     (what & race::kWhileHeld) != 0,
                                     (what & race::kSampled) != 0,
                                     (what & race::kAfterBegin) != 0,
                                     wire::load(record, race::kOffset1),
                                     wire::load(record, race::kOffset2),
                                     (what & race::kOthersRan) != 0};
  if (!host_writes_.changed(change)) return;
  host_homes_.push_back(memory_.known_at(begin));
}

}  // namespace cudadiag::races
