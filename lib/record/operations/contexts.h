// The CUDA contexts of the process: the device of each context, and the devices whose memory it may access. They are
// stored in the area's `contexts` (wire/tables.h).
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/driver_api.h"
#include "record/libc_substitutes.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "wire/tables.h"

namespace cudadiag::record {

// The class has one lock, which is never held during a driver call. Look-ups take no lock.
class Contexts {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  void attach(AreaMap& area, Interner& interner, const DriverApi& driver);

  // Finds a live context. Returns kNone if it is unknown.
  std::uint32_t index_of(std::uint32_t uid) const;
  std::uint32_t index_of(CUcontext handle) const;
  std::byte* entry(std::uint32_t index) const { return entries_ + index * wire::area::kContextSize; }
  bool is_live(std::uint32_t index) const {
    return wire::load_acquire(entry(index), wire::context::kState) ==
           static_cast<std::uint32_t>(wire::context::State::live);
  }

  // The result of adding a context that has become current. `known`: the context already has an entry, or no entry is
  // left. `busy`: another thread is adding it. `taken`: the caller has a new entry, which look-ups find only after
  // make_live(). give_back() frees the entry again.
  struct Place {
    enum class Outcome { taken, known, busy } outcome;
    std::uint32_t index = kNone;
  };
  Place take(CUcontext handle, std::uint32_t uid);
  // Describes the context's device and makes look-ups find the context. The context must be current to the thread.
  void make_live(std::uint32_t index);
  void give_back(std::uint32_t index);
  void destroyed(std::uint32_t index);

  // Call these after the driver call has succeeded. They change the context's access to the memory of `peer`
  // (wire::context::kPeers).
  void give_access(std::uint32_t uid, CUcontext peer);
  void take_access(std::uint32_t uid, CUcontext peer);

 private:
  // Callers of these functions must hold the lock.
  Place place_for(std::uint32_t uid) const;
  std::uint64_t peer_bits(CUcontext peer) const;

  void describe_device(std::uint32_t index);

  std::byte* entries_ = nullptr;
  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  Mutex mutex_;
  std::array<bool, wire::area::kContexts> unready_{};  // taken, but not live yet
};

}  // namespace cudadiag::record
