#include "session/area/collectives_reader.h"

#include <algorithm>
#include <cstring>

namespace cudadiag::session {
namespace {

namespace w = wire::collective;
namespace c = wire::communicator;
namespace p = wire::peer;
using wire::area::Region;

// Limits that no recorder exceeds.
constexpr std::size_t kMostCommunicators = 65536;
constexpr std::size_t kMostPeers = 1u << 20;
constexpr std::size_t kMostCollectives = 1u << 20;

void read_communicators(const AreaRegions& regions, ProcessRecord& record) {
  const std::byte* region = regions.region(Region::communicators).data();
  for (std::size_t i = 0; i < regions.count(Region::communicators, c::kSize, kMostCommunicators); ++i) {
    const auto entry = copy_record<c::kSize>(region + i * c::kSize);
    const std::uint32_t state = wire::load(entry.data(), c::kState);
    // Stops at the first free entry, because entries are filled in order.
    if (state == static_cast<std::uint32_t>(c::State::free)) break;
    Communicator& communicator = record.communicators.emplace_back();
    communicator.rank = wire::load(entry.data(), c::kRank);
    communicator.ranks = wire::load(entry.data(), c::kRanks);
    if (state > static_cast<std::uint32_t>(c::State::finalized) || communicator.rank < 0 || communicator.ranks < 0 ||
        (communicator.ranks > 0 && communicator.rank >= communicator.ranks)) {
      ++record.damaged;
      communicator = {};
      continue;
    }
    communicator.finalized = state == static_cast<std::uint32_t>(c::State::finalized);
    communicator.hash = wire::load(entry.data(), c::kHash);
    communicator.version = wire::load(entry.data(), c::kVersion);
    communicator.made = wire::load(entry.data(), c::kMade);
    communicator.collectives = wire::load(entry.data(), c::kCollectives);
    communicator.captured = wire::load(entry.data(), c::kCaptured);
    const char* name = reinterpret_cast<const char*>(entry.data() + c::kName);
    communicator.name.assign(name, ::strnlen(name, c::kNameSize));
  }
}

void read_peers(const AreaRegions& regions, ProcessRecord& record) {
  const std::byte* region = regions.region(Region::peers).data();
  for (std::size_t i = 0; i < regions.count(Region::peers, p::kSize, kMostPeers); ++i) {
    const auto entry = copy_record<p::kSize>(region + i * p::kSize);
    const std::uint64_t key = wire::load(entry.data(), p::kKey);
    if (key == 0) continue;
    const std::uint32_t communicator = p::communicator_of(key);
    if ((key & p::kUsed) == 0 || communicator >= record.communicators.size()) {
      ++record.damaged;
      continue;
    }
    Communicator& of = record.communicators[communicator];
    auto& calls = (key & p::kReceives) != 0 ? of.receives : of.sends;
    calls[p::peer_of(key)] = wire::load(entry.data(), p::kCalls);
  }
}

bool decode(const std::byte* from, const ProcessRecord& record, Collective& call) {
  call.number = wire::load(from, w::kNumber);
  call.communicator = wire::load(from, w::kCommunicator);
  const std::uint8_t function = wire::load(from, w::kFunction), type = wire::load(from, w::kType);
  if (call.communicator >= record.communicators.size() || function >= w::kFunctionNames.size() ||
      type >= w::kTypeNames.size()) {
    return false;
  }
  call.function = static_cast<w::Function>(function);
  call.type = static_cast<w::Type>(type);
  call.ticks = wire::load(from, w::kTicks);
  call.count = wire::load(from, w::kCount);
  call.stream = wire::load(from, w::kStream);
  call.ordinal = wire::load(from, w::kOrdinal);
  call.of_function = wire::load(from, w::kOfFunction);
  call.peer = wire::load(from, w::kPeer);
  call.flags = wire::load(from, w::kFlags);
  call.thread = wire::load(from, w::kThread);
  call.site = wire::load(from, w::kSite);
  if (call.site > record.sites.size()) call.site = 0;
  return true;
}

}  // namespace

void read_collectives(std::span<const std::byte> area, const AreaRegions& regions, ProcessRecord& record) {
  record.collectives_called = wire::load_acquire(area.data(), wire::area::kCollectivesCalled);
  record.dropped_communicators = wire::load_acquire(area.data(), wire::area::kDroppedCommunicators);
  record.dropped_peers = wire::load_acquire(area.data(), wire::area::kDroppedPeers);
  if (regions.region(Region::communicators).size() < c::kSize) return;
  read_communicators(regions, record);
  if (record.communicators.empty()) return;
  read_peers(regions, record);
  const std::size_t places = regions.count(Region::collectives, w::kSize, kMostCollectives);
  const std::byte* region = regions.region(Region::collectives).data();
  for (std::size_t i = 0; i < std::min<std::uint64_t>(places, record.collectives_called); ++i) {
    const auto copy = copy_serialised<w::kSize>(region + i * w::kSize);
    if (!copy) continue;
    Collective call;
    if (!decode(copy->data(), record, call) || (call.number - 1) % places != i) {
      ++record.damaged;
      continue;
    }
    record.collectives.push_back(call);
  }
  std::sort(record.collectives.begin(), record.collectives.end(),
            [](const Collective& a, const Collective& b) { return a.number < b.number; });
}

}  // namespace cudadiag::session
