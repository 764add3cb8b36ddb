// Decodes one operation record, from a ring or a full log, with the help of the process's other tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "session/process_record.h"

namespace cudadiag::session {

inline wire::operation::Kind kind_of(const std::byte* record) {
  return static_cast<wire::operation::Kind>(wire::load(record, wire::operation::kKind));
}

// `record` has wire::area::kOperationSize bytes. `process` must already have its threads, streams and interned tables.
// Returns nullopt if the record is invalid or not an operation of this process.
std::optional<Operation> decode_operation(const std::byte* record, std::uint64_t serial, const ProcessRecord& process);

}  // namespace cudadiag::session
