// The part of a Detector about the memory that kernels use through the pointers among their parameters.
#include <algorithm>
#include <iterator>
#include <utility>

#include "races/race_detector.h"
#include "wire/hash.h"
#include "wire/operation.h"
#include "wire/race_record.h"
#include "wire/tables.h"

namespace cudadiag::races {

namespace operation = wire::operation;
namespace race = wire::race;

namespace {

constexpr std::size_t kMostPending = 256;
constexpr std::size_t kMostLaunches = 1u << 14;  // limits the distinct sets of parameter words

}  // namespace

void Detector::note_parameters(const std::byte* record, Pending& pending) {
  const std::uint32_t function = wire::load(record, operation::kSite);
  pending.function = function;
  pending.zeros = wire::load(record, race::kZeros);
  const auto take = [&](auto value, auto offset) {
    const std::uint64_t word = wire::load(record, value);
    if (word != 0 && pending.words.size() < kMostPending) {
      pending.words.push_back({word, wire::load(record, offset), function});
    }
  };
  take(race::kWord0, race::kOffset0);
  take(race::kWord1, race::kOffset1);
  take(race::kWord2, race::kOffset2);
  take(race::kWord3, race::kOffset3);
}

std::uint32_t Detector::launch_words(const Pending& pending) {
  launch_.live.clear();
  launch_.zeros = pending.zeros;
  std::uint64_t hash = wire::mix(wire::kHashSeed, pending.zeros);
  // A comparison needs two addresses. If the list is full, some addresses may be missing, so the list is not used.
  const bool telling = pending.words.size() >= 2 && pending.words.size() < race::kMostWords;
  for (auto word = pending.words.begin(); telling && word != pending.words.end(); ++word) {
    const auto same = std::find_if(pending.words.begin(), word, [&](const Word& w) { return w.value == word->value; });
    launch_.live.push_back({word->offset, same->offset});
    hash = wire::mix(hash, std::uint64_t{word->offset} << 32 | same->offset);
  }
  const auto [known, fresh] = launch_numbers_.try_emplace(hash, 0);
  if (fresh && launches_.size() < kMostLaunches) {
    known->second = static_cast<std::uint32_t>(launches_.size());
    launches_.push_back(launch_);
  }
  return launches_[known->second] == launch_ ? known->second : 0;
}

bool Detector::may_end(const Word& word, const Pending& pending) const {
  const Memory* memory = memory_.at(word.value);
  return memory != nullptr && std::ranges::any_of(pending.words, [&](const Word& other) {
           return memory->begin <= other.value && other.value < word.value;
         });
}

void Detector::kernel(const Issued& issued, const Pending& pending) {
  const std::byte* record = issued.record;
  Access access = by_call(record, order_.issue(issued.stream), issued.stream);
  access.words = launch_words(pending);
  if (gap_until_ == 0) look_inside(issued, pending, access);
  std::vector<std::uint32_t> addresses;
  for (const Word& word : pending.words) {
    if (memory_.at(word.value) != nullptr) addresses.push_back(word.offset);
  }
  const std::vector<UsedImage> images = used_images(issued, pending.function);
  std::vector<sass::Image> shapes;
  for (const UsedImage& image : images) shapes.push_back(image.image.shape);
  const auto& bytes = pending.function == 0
                          ? LaunchBytes::kNone
                          : launch_bytes_.of(record, pending.function, issued.parameters,
                                             {std::move(addresses), std::move(shapes), tensors_of(pending)});
  if (pending.watched != 0) watch_kernel(access, pending, bytes);
  // Assumes that a kernel without pointer parameters writes nothing, even if its code is unknown. A kernel that can
  // read host memory may wait for the host.
  if (!pending.words.empty() && launch_bytes_.may_write_elsewhere(pending.words.front().function)) {
    host_writes_.writes_anywhere(access.at, issued.stream);
  } else if (std::ranges::any_of(pending.words, [&](const Word& word) { return is_of_host(word.value); })) {
    host_writes_.mediator(access.at, issued.stream);
  }
  for (const Word& word : pending.words) {
    if (memory_.at(word.value) == nullptr) continue;
    access.begin = word.value;
    access.function = word.function;
    access.parameter = word.offset;
    access.may_end = may_end(word, pending);
    if (!add_bytes(access, bytes)) add(access);
  }
  access.function = pending.function;
  for (const UsedImage& image : images) add_image(access, image, bytes);
}

// Watches the host memory that the kernel reads by plain loads. Call this before adding the kernel's own accesses.
void Detector::watch_kernel(const Access& launch, const Pending& pending,
                            const std::vector<sass::ParameterBytes>& bytes) {
  if (gap_until_ != 0 || launch_bytes_.may_wait_for_host(pending.function)) return;
  HostWrites::Watched watched;
  watched.number = pending.watched;
  watched.of = HostWrites::Watched::Of::kernel;
  // A kernel that writes to host memory can tell the host how far it is.
  watched.may_change_inside = launch_bytes_.may_write_elsewhere(pending.function);
  for (const Word& word : pending.words) {
    if (!is_of_host(word.value)) continue;
    bool all = false;
    for (const sass::ParameterBytes& use : bytes) {
      if (use.parameter != word.offset) continue;
      all |= use.all;
      watched.may_change_inside |= use.mode != Mode::read && use.mode != Mode::none;
      for (const sass::ByteRows& rows : use.rows) {
        Access source = launch;
        source.function = word.function;
        source.parameter = word.offset;
        source.begin = word.value;
        if (use.mode == Mode::read) add_source(in_rows(source, rows, Mode::read), watched);
      }
    }
    watched.may_change_inside |= !all && launch_bytes_.may_write(pending.function, word.offset);
  }
  if (watched.sources.empty()) return;
  watched.copy = watched.sources.front();
  host_writes_.watch(std::move(watched));
}

// A kernel without pointers among its parameters is not considered.
void Detector::look_inside(const Issued& issued, const Pending& pending, const Access& access) {
  if (pending.words.empty()) return;
  std::vector<KernelRaces::Pointer> pointers;
  for (const Word& word : pending.words) {
    const Memory* memory = memory_.at(word.value);
    if (memory != nullptr) pointers.push_back({word.offset, word.value, *memory});
  }
  if (pointers.empty()) return;
  Access launch = access;
  launch.function = pending.words.front().function;
  const std::byte* record = issued.record;
  const bool cut = (wire::load(record, operation::kFlags) & operation::kSaturated) != 0;
  const bool known = !issued.parameters.empty() && !cut && wire::load(record, operation::kCluster) == 0 &&
                     pending.words.size() < race::kMostWords;
  kernel_races_.launched(record, stored_access(launch, order_), issued.parameters, known, pointers);
}

bool Detector::add_bytes(const Access& access, const std::vector<sass::ParameterBytes>& bytes) {
  bool known = false;
  for (const sass::ParameterBytes& use : bytes) {
    if (use.parameter != access.parameter) continue;
    known |= use.all;
    add_rows(access, use);
  }
  return known;
}

// `access` begins at the address that the kernel received.
Access Detector::in_rows(Access access, const sass::ByteRows& rows, Mode mode) {
  access.mode = mode;
  access.exact = true;
  access.may_end = false;
  access.begin += static_cast<std::uint64_t>(rows.begin);
  access.width = rows.width;
  access.pitch = rows.rows > 1 ? rows.pitch : 0;
  access.rows = rows.rows;
  return access;
}

void Detector::add_rows(const Access& access, const sass::ParameterBytes& use) {
  for (const sass::ByteRows& rows : use.rows) {
    const Access exact = in_rows(access, rows, use.mode);
    if (access.array == 0) note_overrun(exact, access.begin);
    add(exact);
  }
}

// ---- kernels that use bytes outside the memory that their parameters point into

namespace {

using MemoryKind = wire::allocation::Kind;

constexpr std::size_t kMostOverruns = 256;

// Returns whether the end of the memory is known exactly. The size of memory that is registered, or opened from another
// process, may be rounded up.
bool has_known_end(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::managed || kind == MemoryKind::ordered ||
         kind == MemoryKind::pinned || kind == MemoryKind::mapped;
}

}  // namespace

// Returns whether known memory covers the range. Adjacent mappings count as one piece.
bool Detector::is_covered(std::uint64_t begin, std::uint64_t end) const {
  const Memory* memory = memory_.at(begin);
  while (memory != nullptr && memory->begin + memory->bytes < end) {
    if (memory->kind != MemoryKind::mapped) return false;
    memory = memory_.at(memory->begin + memory->bytes);
  }
  return memory != nullptr;
}

void Detector::note_overrun(const Access& access, std::uint64_t pointer) {
  const Memory* memory = memory_.at(pointer);
  if (gap_until_ != 0 || memory == nullptr || !has_known_end(memory->kind)) return;
  const std::uint64_t end = memory->begin + memory->bytes;
  const bool inside = access.begin >= memory->begin && access.end() <= end;
  const bool meets = access.begin < end && access.end() > memory->begin;
  // If the whole access lies in known memory, it is not an overrun. The parameter is then an end pointer of the
  // preceding block, and equals the beginning of this block only by chance.
  if (inside || !meets || access.end() <= access.begin || is_covered(access.begin, access.end())) return;
  for (session::Overrun& known : overruns_) {
    const session::RaceAccess& its = known.access;
    if (its.site != access.site || its.function != access.function || its.parameter != access.parameter) continue;
    ++known.times;
    return;
  }
  if (overruns_.size() >= kMostOverruns) return;
  overruns_.push_back({0, stored_access(access, order_), memory->begin, memory->bytes, memory->site, 1});
}

}  // namespace cudadiag::races
