// One operation record, from a ring or from a full log, resolved with its process's other tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "session/process_record.h"

namespace cudadiag::session {

inline wire::operation::Kind kind_of(const std::byte* record) {
  return static_cast<wire::operation::Kind>(wire::load(record, wire::operation::kKind));
}

// `record`: wire::area::kOperationSize bytes; `process` has its threads, streams and interned things already. Nothing
// if it is not an operation of this process, or is invalid.
std::optional<Operation> decode_operation(const std::byte* record, std::uint64_t serial, const ProcessRecord& process);

}  // namespace cudadiag::session
