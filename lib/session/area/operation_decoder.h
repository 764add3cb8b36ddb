// Decodes records of an area: operations, their parameters, failed calls, and NCCL's communicators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "session/area/area_regions.h"
#include "session/area/intern_reader.h"
#include "session/process_record.h"

namespace cudadiag::session {

inline wire::operation::Kind kind_of(const std::byte* record) {
  return static_cast<wire::operation::Kind>(wire::load(record, wire::operation::kKind));
}

// `record` has wire::area::kOperationSize bytes. `process` must already have its threads, streams and interned tables.
// Returns nullopt if the record is invalid or not an operation of this process.
std::optional<Operation> decode_operation(const std::byte* record, std::uint64_t serial, const ProcessRecord& process);

// Reads the calls that returned an error (wire/error.h) from an area.

// Fills `record.errors` in the order of the calls, and finds the call that caused the freeze. `frozen_slot` is 1 + the
// index of that call in the area, or 0 if there is none.
void read_failed_calls(const AreaRegions& regions, InternStrings& strings, std::uint32_t frozen_slot,
                       ProcessRecord& record);

// Reads NCCL's communicators and the calls on them (wire/collective.h) from an area.

// Fills `communicators`, `collectives` and `collectives_called` of `record`. The sites and threads of `record` must be
// filled first. If the process has not used NCCL, the regions are holes in the file. They are then not read, because
// reading holes allocates memory.
void read_collectives(std::span<const std::byte> area, const AreaRegions& regions, ProcessRecord& record);

// Finds operations that have an ordinal but were not queued yet when the area was read.

// Removes from the streams of `record` the ordinals of operations that the GPU cannot have received: at most one per
// call in flight. A thread takes its operation's ordinal, then writes the record, and then calls the driver. An ordinal
// without a record thus belongs to an operation that was not queued yet, if a call was in flight. `in_flight` is the
// number of threads inside a call, per stream.
void leave_out_unqueued(ProcessRecord& record, std::span<const std::uint32_t> in_flight);

// Reads the parameters of recent launches (wire/launch_parameters.h): adds those of the kernels in `record.operations` to `record.arguments`, if the area still has them. Also adds
// the contents of copies that may have filled tables of addresses.
void read_launch_parameters(const AreaRegions& regions, ProcessRecord& record);

// Returns the bytes of one launch's parameters. `serial` is truncated to 32 bits.
std::string parameter_bytes(const AreaRegions& regions, std::uint32_t thread, std::uint32_t serial);

}  // namespace cudadiag::session
