#include "record/operations/contexts.h"

#include <stdio.h>
#include <string.h>

namespace cudadiag::record {

namespace area = wire::area;
namespace context = wire::context;

void Contexts::attach(AreaMap& map, Interner& interner, const DriverApi& driver) {
  entries_ = map.region(area::Region::contexts);
  interner_ = &interner;
  driver_ = &driver;
}

std::uint32_t Contexts::index_of(std::uint32_t uid) const {
  for (std::uint32_t i = 0; i < area::kContexts; ++i) {
    if (is_live(i) && wire::load(entry(i), context::kUid) == uid) return i;
  }
  return kNone;
}

std::uint32_t Contexts::index_of(CUcontext handle) const {
  for (std::uint32_t i = 0; i < area::kContexts; ++i) {
    if (is_live(i) && wire::load(entry(i), context::kHandle) == reinterpret_cast<std::uint64_t>(handle)) return i;
  }
  return kNone;
}

// Returns a free entry. If there is none, returns the entry of the destroyed context with the lowest uid, which is the
// oldest one. A context that was destroyed recently may still be current to a thread.
Contexts::Place Contexts::place_for(std::uint32_t uid) const {
  using Outcome = Place::Outcome;
  std::uint32_t free = kNone, gone = kNone, gone_uid = 0xffffffff;
  for (std::uint32_t i = 0; i < area::kContexts; ++i) {
    const auto state = static_cast<context::State>(wire::load(entry(i), context::kState));
    const std::uint32_t other = wire::load(entry(i), context::kUid);
    if (unready_[i]) {
      if (other == uid) return {Outcome::busy};
      continue;
    }
    if (state != context::State::free && other == uid) return {Outcome::known};
    if (state == context::State::free && free == kNone) free = i;
    if (state == context::State::destroyed && other < gone_uid) gone = i, gone_uid = other;
  }
  const std::uint32_t found = free != kNone ? free : gone;
  return found == kNone ? Place{Outcome::known} : Place{Outcome::taken, found};
}

Contexts::Place Contexts::take(CUcontext handle, std::uint32_t uid) {
  const LockGuard lock(mutex_);
  const Place place = place_for(uid);
  if (place.outcome != Place::Outcome::taken) return place;
  std::byte* taken = entry(place.index);
  memset(taken, 0, area::kContextSize);
  wire::store(taken, context::kUid, uid);
  wire::store(taken, context::kHandle, reinterpret_cast<std::uint64_t>(handle));
  wire::store(taken, context::kPeers, context::kPeersKnown);
  unready_[place.index] = true;
  return place;
}

void Contexts::make_live(std::uint32_t index) {
  describe_device(index);
  const LockGuard lock(mutex_);
  unready_[index] = false;
  wire::store_release(entry(index), context::kState, static_cast<std::uint32_t>(context::State::live));
}

void Contexts::give_back(std::uint32_t index) {
  const LockGuard lock(mutex_);
  unready_[index] = false;
}

void Contexts::destroyed(std::uint32_t index) {
  wire::store_release(entry(index), context::kState, static_cast<std::uint32_t>(context::State::destroyed));
}

void Contexts::describe_device(std::uint32_t index) {
  CUdevice device = 0;
  if (driver_->ctx_get_device(&device) != CUDA_SUCCESS) return;
  wire::store(entry(index), context::kDevice, static_cast<std::uint32_t>(device));
  char key[32], name[256] = "";
  snprintf(key, sizeof key, "device.%d.name", device);
  if (driver_->device_get_name(name, sizeof name, device) == CUDA_SUCCESS) interner_->property(key, name);
  snprintf(key, sizeof key, "device.%d.pci", device);
  if (driver_->device_get_pci_bus_id != nullptr &&
      driver_->device_get_pci_bus_id(name, sizeof name, device) == CUDA_SUCCESS) {
    interner_->property(key, name);
  }
  int pageable = 0;
  if (driver_->device_get_attribute(&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) == CUDA_SUCCESS &&
      pageable != 0) {
    interner_->property("pageable_access", "1");
  }
  int shared = 0;
  if (driver_->device_get_attribute(&shared, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device) == CUDA_SUCCESS && shared != 0) {
    interner_->property("mps", "1");
  }
}

// Returns the bits of wire::context::kPeers for the peer's device, or all bits if the peer is unknown.
std::uint64_t Contexts::peer_bits(CUcontext peer) const {
  const std::uint32_t index = index_of(peer);
  const std::uint32_t device = index == kNone ? context::kPeerDevices : wire::load(entry(index), context::kDevice);
  return device < context::kPeerDevices ? std::uint64_t{1} << device : ~context::kPeersKnown;
}

void Contexts::give_access(std::uint32_t uid, CUcontext peer) {
  const LockGuard lock(mutex_);
  const std::uint32_t index = index_of(uid);
  if (index == kNone) return;
  wire::store(entry(index), context::kPeers, wire::load(entry(index), context::kPeers) | peer_bits(peer));
}

// Keeps all bits if the peer is unknown, because we cannot tell which access the call revoked.
void Contexts::take_access(std::uint32_t uid, CUcontext peer) {
  const LockGuard lock(mutex_);
  const std::uint32_t index = index_of(uid);
  const std::uint64_t bits = peer_bits(peer);
  if (index == kNone || bits == ~context::kPeersKnown) return;
  wire::store(entry(index), context::kPeers, wire::load(entry(index), context::kPeers) & ~bits);
}

}  // namespace cudadiag::record
