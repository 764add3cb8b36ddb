// Records NCCL's communicators and the calls on them (wire/collective.h). Memory use is bounded, and recording a call
// takes no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "record/libc_substitutes.h"
#include "record/output/area_map.h"
#include "wire/collective.h"

namespace cudadiag::record {

struct CommunicatorMade {
  std::uint64_t hash;
  std::string_view name;  // empty if the communicator has no name
  std::int32_t rank;
  std::int32_t ranks;    // 0 if unknown
  std::int32_t version;  // version of NCCL's profiler interface
};

struct CollectiveCall {
  std::uint32_t communicator;
  const char* function;  // the name that NCCL reports, such as "AllReduce"
  const char* type;
  std::uint64_t count;
  std::int32_t peer;     // the peer, or the root of a collective
  std::uint64_t stream;  // the CUstream; 0 unless `flags` has kBeforeLaunch
  std::uint8_t flags;    // wire::collective::Flag
  // NCCL's number for the call, counted from 0 for each function. A repeated number means that a captured call is
  // replayed. Empty if NCCL does not report the number.
  std::optional<std::uint64_t> sequence;
};

class Collectives {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  void attach(AreaMap& area) { area_ = &area; }
  bool attached() const { return area_ != nullptr; }

  // Adds a communicator. Returns its index, or kNone if no entry was left.
  std::uint32_t made(const CommunicatorMade& made);
  // Returns the index of the live communicator with this hash and rank, or adds the communicator if it is new.
  std::uint32_t find_or_make(const CommunicatorMade& made);
  void finalized(std::uint32_t communicator);
  // `thread` is 0xff if the thread has no index.
  void called(const CollectiveCall& call, std::uint8_t thread, std::uint32_t site);

 private:
  std::byte* entry(std::uint32_t communicator);
  std::uint32_t ordinal_of_peer(std::uint32_t communicator, std::uint32_t peer, bool receives);

  AreaMap* area_ = nullptr;
  Mutex mutex_;  // held while a communicator is added
  std::atomic<std::uint32_t> used_ = 0;
  std::array<std::array<std::atomic<std::uint32_t>, wire::collective::kFunctionNames.size()>,
             wire::area::kCommunicators>
      of_function_{};
};

// ---- called by NCCL's profiler plugin, which NCCL may call on any program thread

// Returns false if this process is not recorded.
bool takes_collectives();

// These functions forward to Collectives. Without a recorder, they do nothing and return kNone.
std::uint32_t enter_communicator(const CommunicatorMade& made, bool may_be_known);
void leave_communicator(std::uint32_t communicator);
// `frame`: the frame address of the function that NCCL called.
void enter_collective(const CollectiveCall& call, std::uintptr_t frame);

}  // namespace cudadiag::record
