// Decodes one process area: a file of a session, or the live mapping of a process that is still running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "session/process_record.h"
#include "wire/clock.h"

namespace cudadiag::session {

// An area that is no area at all (wrong magic, another version, too short) gives a value with `error`
// set, worded for the user; damage further in is counted in the record instead.
struct AreaContents {
  ProcessRecord record;
  std::string error;
};

// `area` may change while it is read (a live process): what is torn is left out, not misread. `now`: of such an area,
// whose own last clock reading is yet to come.
AreaContents read_area(std::span<const std::byte> area, std::optional<wire::ClockReading> now = {});

// Stream operations that a live process has issued so far: cheap enough to be asked again and again.
std::uint64_t operations_so_far(std::span<const std::byte> area);

// Changes whenever a live process issues an operation, one of its operations is seen to end, or a call that may block
// begins or returns. Likewise cheap.
std::uint64_t progress_digest(std::span<const std::byte> area);

}  // namespace cudadiag::session
