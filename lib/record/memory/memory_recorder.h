// Records where memory was allocated and freed, and which contexts may access each other's memory. Call these functions
// after the program's call has succeeded. Owns the list of allocations.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "record/calls/call_rules.h"
#include "record/calls/memory_and_graph_call_rules.h"
#include "record/driver_api.h"
#include "record/memory/allocations.h"
#include "record/memory/race_records.h"
#include "record/operations/operation_recorder.h"
#include "record/output/area_map.h"

namespace cudadiag::record {

class MemoryRecorder {
 public:
  void attach(AreaMap& area, const DriverApi& driver, OperationRecorder& operations);
  void record_races(RaceRecords& races) { races_ = &races; }
  const Allocations& allocations() const { return allocations_; }

  void note(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, std::uintptr_t frame);
  // Like note(), for a call on a thread without a ring.
  void note_unrecorded(std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data);
  void note_peer_access(std::uint32_t id, const CUpti_CallbackData& data);
  // `thread` may be null. `context` is the context's index.
  void context_destroyed(ThreadState* thread, std::uint32_t context, std::uintptr_t frame);

 private:
  std::uint64_t size_at(std::uint64_t address) const;

  AreaMap* area_ = nullptr;
  const DriverApi* driver_ = nullptr;
  OperationRecorder* operations_ = nullptr;
  RaceRecords* races_ = nullptr;  // null if cudadiag does not look for races
  Allocations allocations_;
};

}  // namespace cudadiag::record
