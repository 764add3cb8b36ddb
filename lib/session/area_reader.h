// Decodes one process's area, from a file of a session or from the mapping of a running process: as a whole, its intern
// heap alone, or single records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "session/area_regions.h"
#include "session/process_record.h"
#include "wire/clock.h"

namespace cudadiag::session {

// If the bytes are not an area (wrong magic, different version, too short), `error` is a message for the user. If only
// parts of an area are damaged, `record` counts the damaged parts instead.
struct AreaContents {
  ProcessRecord record;
  std::string error;
};

std::string not_an_area(std::span<const std::byte> area);

// If the process is live, `area` may change while it is read, and torn records are dropped. In this case, pass the
// current time as `now`, because the area has no last clock reading yet.
AreaContents read_area(std::span<const std::byte> area, std::optional<wire::ClockReading> now = {});

// Copies strings of the intern heap into a record. Each reference to a string needs a copy. A hostile heap could refer
// to one long string a million times, so the copies have a limited total size. Copies beyond this limit are omitted and
// counted.
class InternStrings {
 public:
  void add(std::string text) { strings_.push_back(std::move(text)); }
  // Copies string `id` into `out`. Returns false if it does not exist; id 0 never exists.
  bool copy(std::uint32_t id, std::string& out);

 private:
  static constexpr std::size_t kBudget = 256u << 20;
  std::vector<std::string> strings_;
  std::size_t copied_ = 0;
};

// Fills these members of `record` from a heap: the functions, modules, codes, stacks, sites, graphs, notes and
// properties, and `damaged`. Returns the strings of the heap.
InternStrings read_intern_heap(std::span<const std::byte> heap, ProcessRecord& record);

inline wire::operation::Kind kind_of(const std::byte* record) {
  return static_cast<wire::operation::Kind>(wire::load(record, wire::operation::kKind));
}

// `record` has wire::area::kOperationSize bytes. `process` must already have its threads, streams and interned tables.
// Returns nullopt if the record is invalid or not an operation of this process.
std::optional<Operation> decode_operation(const std::byte* record, std::uint64_t serial, const ProcessRecord& process);

// Reads the calls that returned an error (wire/error.h). Fills `record.errors` in the order of the calls, and finds the
// call that caused the freeze. `frozen_slot` is 1 + the index of that call in the area, or 0 if there is none.
void read_failed_calls(const AreaRegions& regions, InternStrings& strings, std::uint32_t frozen_slot,
                       ProcessRecord& record);

// Reads NCCL's communicators and the calls on them (wire/collective.h). Fills `communicators`, `collectives` and
// `collectives_called` of `record`. The sites and threads of `record` must be filled first. If the process has not used
// NCCL, the regions are holes in the file. They are then not read, because reading holes allocates memory.
void read_collectives(std::span<const std::byte> area, const AreaRegions& regions, ProcessRecord& record);

// Removes from the streams of `record` the ordinals of operations that the GPU cannot have received: at most one per
// call in flight. A thread takes its operation's ordinal, then writes the record, and then calls the driver. An ordinal
// without a record thus belongs to an operation that was not queued yet, if a call was in flight. `in_flight` is the
// number of threads inside a call, per stream.
void leave_out_unqueued(ProcessRecord& record, std::span<const std::uint32_t> in_flight);

// Reads the parameters of recent launches (wire/tables.h): adds those of the kernels in `record.operations` to
// `record.arguments`, if the area still has them. Also adds the contents of copies that may have filled tables of
// addresses.
void read_launch_parameters(const AreaRegions& regions, ProcessRecord& record);

// Returns the bytes of one launch's parameters. `serial` is truncated to 32 bits.
std::string parameter_bytes(const AreaRegions& regions, std::uint32_t thread, std::uint32_t serial);

}  // namespace cudadiag::session
