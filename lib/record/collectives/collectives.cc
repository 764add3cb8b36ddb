#include "record/collectives/collectives.h"

#include <string.h>

#include <algorithm>
#include <span>

#include "wire/hash.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace collective = wire::collective;
namespace communicator = wire::communicator;
namespace peer = wire::peer;

namespace {

std::uint8_t index_of(const char* name, std::span<const std::string_view> names) {
  if (name == nullptr) return 0;
  const auto found = std::find(names.begin() + 1, names.end(), std::string_view(name));
  return static_cast<std::uint8_t>(found == names.end() ? 0 : found - names.begin());
}

template <typename Field>
std::uint64_t add_one(std::byte* record, Field field) {
  return wire::atomic(record, field).fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

std::byte* Collectives::entry(std::uint32_t index) {
  return area_->region(area::Region::communicators) + index * communicator::kSize;
}

std::uint32_t Collectives::made(const CommunicatorMade& made) {
  const LockGuard lock(mutex_);
  const std::uint32_t index = used_.load(std::memory_order_relaxed);
  if (index == area::kCommunicators) {
    area_->count(area::kDroppedCommunicators);
    return kNone;
  }
  std::byte* to = entry(index);
  wire::store(to, communicator::kRank, made.rank);
  wire::store(to, communicator::kHash, made.hash);
  wire::store(to, communicator::kRanks, made.ranks);
  wire::store(to, communicator::kVersion, made.version);
  wire::store(to, communicator::kMade, ticks());
  memcpy(to + communicator::kName, made.name.data(), std::min(made.name.size(), communicator::kNameSize));
  wire::store_release(to, communicator::kState, static_cast<std::uint32_t>(communicator::State::live));
  used_.store(index + 1, std::memory_order_release);
  return index;
}

std::uint32_t Collectives::find_or_make(const CommunicatorMade& wanted) {
  for (std::uint32_t index = 0; index < used_.load(std::memory_order_acquire); ++index) {
    const std::byte* to = entry(index);
    if (wire::load(to, communicator::kHash) == wanted.hash && wire::load(to, communicator::kRank) == wanted.rank &&
        wire::load(to, communicator::kState) == static_cast<std::uint32_t>(communicator::State::live)) {
      return index;
    }
  }
  return made(wanted);
}

void Collectives::finalized(std::uint32_t index) {
  if (index == kNone) return;
  wire::store_release(entry(index), communicator::kState, static_cast<std::uint32_t>(communicator::State::finalized));
}

// Counts one call with a peer and returns its ordinal. Finds or creates the peer's entry by linear probing. Returns 0
// if all probed entries belong to other keys.
std::uint32_t Collectives::ordinal_of_peer(std::uint32_t index, std::uint32_t of, bool receives) {
  constexpr std::size_t kProbes = 64;
  const std::uint64_t key = peer::key_of(index, of, receives);
  const std::size_t first = wire::mix(wire::kHashSeed, key) % area::kPeers;
  for (std::size_t i = 0; i < kProbes; ++i) {
    std::byte* place = area_->region(area::Region::peers) + (first + i) % area::kPeers * peer::kSize;
    std::uint64_t there = wire::load_acquire(place, peer::kKey);
    if (there == 0 && wire::atomic(place, peer::kKey).compare_exchange_strong(there, key)) there = key;
    if (there == key) return static_cast<std::uint32_t>(add_one(place, peer::kCalls));
  }
  area_->count(area::kDroppedPeers);
  return 0;
}

void Collectives::called(const CollectiveCall& call, std::uint8_t thread, std::uint32_t site) {
  if (call.communicator == kNone) return;
  const auto function = index_of(call.function, collective::kFunctionNames);
  const bool pairs = collective::is_point_to_point(static_cast<collective::Function>(function));
  std::uint8_t flags = call.flags;
  std::uint32_t ordinal = 0, of_function = 0;
  std::byte* of = entry(call.communicator);
  if (pairs) {
    const bool receives = function == static_cast<std::uint8_t>(collective::Function::receive);
    ordinal = ordinal_of_peer(call.communicator, static_cast<std::uint32_t>(call.peer), receives);
  } else {
    std::atomic<std::uint32_t>& count = of_function_[call.communicator][function];
    if (call.sequence && *call.sequence < count.load(std::memory_order_relaxed)) flags |= collective::kCaptured;
    if ((flags & collective::kCaptured) == 0) {
      of_function = count.fetch_add(1, std::memory_order_relaxed) + 1;
      ordinal = static_cast<std::uint32_t>(add_one(of, communicator::kCollectives));
    } else {
      add_one(of, communicator::kCaptured);
    }
  }
  const std::uint64_t number = add_one(area_->header(), area::kCollectivesCalled);
  std::byte* record = area_->region(area::Region::collectives) + (number - 1) % area::kCollectives * collective::kSize;
  wire::store_release(record, collective::kNumber, 0);
  std::atomic_thread_fence(std::memory_order_release);
  wire::store(record, collective::kTicks, ticks());
  wire::store(record, collective::kCount, call.count);
  wire::store(record, collective::kStream, call.stream);
  wire::store(record, collective::kOrdinal, ordinal);
  wire::store(record, collective::kOfFunction, of_function);
  wire::store(record, collective::kPeer, call.peer);
  wire::store(record, collective::kCommunicator, static_cast<std::uint16_t>(call.communicator));
  wire::store(record, collective::kSite, static_cast<std::uint16_t>(site));
  wire::store(record, collective::kFunction, function);
  wire::store(record, collective::kType, index_of(call.type, collective::kTypeNames));
  wire::store(record, collective::kFlags, flags);
  wire::store(record, collective::kThread, thread);
  wire::store_release(record, collective::kNumber, number);
}

}  // namespace cudadiag::record
