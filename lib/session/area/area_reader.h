// Decodes one process's area, from a file of a session or from the mapping of a running process.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

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

}  // namespace cudadiag::session
