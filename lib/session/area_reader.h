// Decodes one process area: a file of a session, or the live mapping of a process that is still running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "session/process_record.h"

namespace cudadiag::session {

// An area that is no area at all (wrong magic, another version, too short) gives a value with `error`
// set, worded for the user; damage further in is counted in the record instead.
struct AreaContents {
  ProcessRecord record;
  std::string error;
};

// `area` may change while it is read (a live process): what is torn is left out, not misread.
AreaContents read_area(std::span<const std::byte> area);

// Stream operations that a live process has issued so far: cheap enough to be asked again and again.
std::uint64_t operations_so_far(std::span<const std::byte> area);

}  // namespace cudadiag::session
