// Decodes one process area: a file of a session, or the live mapping of a process that is still running.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "session/process_record.h"
#include "wire/clock.h"

namespace cudadiag::session {

// Bytes that are not an area (wrong magic, another version, too short) give a value with `error` set, worded for the
// user; damage further in is counted in the record instead.
struct AreaContents {
  ProcessRecord record;
  std::string error;
};

// Why this is none that this program reads; empty if it is one.
std::string not_an_area(std::span<const std::byte> area);

// `area` may change while it is read (a live process): torn records are left out, not misread. `now`: of such an area,
// whose own last clock reading is yet to come.
AreaContents read_area(std::span<const std::byte> area, std::optional<wire::ClockReading> now = {});

}  // namespace cudadiag::session
