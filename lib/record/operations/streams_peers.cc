// Whose memory a context has access to: an illegal access may be one to memory of a GPU that was not asked for it.
#include "record/operations/streams.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace context = wire::context;

// Bits of wire::context::kPeers: the peer's device, or all where the peer has not been met.
std::uint64_t Streams::peer_bits(CUcontext peer) const {
  for (std::uint32_t i = 0; i < area::kContexts; ++i) {
    const std::byte* known = contexts_ + i * area::kContextSize;
    const bool is_it = wire::load(known, context::kState) == static_cast<std::uint32_t>(context::State::live) &&
                       wire::load(known, context::kHandle) == reinterpret_cast<std::uint64_t>(peer);
    const std::uint32_t device = wire::load(known, context::kDevice);
    if (is_it && device < context::kPeerDevices) return std::uint64_t{1} << device;
  }
  return ~context::kPeersKnown;
}

void Streams::give_access(std::uint32_t uid, CUcontext peer) {
  const LockGuard lock(mutex_);
  const std::uint32_t index = context_index(uid);
  if (index == kNone) return;
  std::byte* place = contexts_ + index * area::kContextSize;
  wire::store(place, context::kPeers, wire::load(place, context::kPeers) | peer_bits(peer));
}

// If the peer is not known, any access may be gone or not: all of it stays.
void Streams::take_access(std::uint32_t uid, CUcontext peer) {
  const LockGuard lock(mutex_);
  const std::uint32_t index = context_index(uid);
  const std::uint64_t bits = peer_bits(peer);
  if (index == kNone || bits == ~context::kPeersKnown) return;
  std::byte* place = contexts_ + index * area::kContextSize;
  wire::store(place, context::kPeers, wire::load(place, context::kPeers) & ~bits);
}

}  // namespace cudadiag::record
