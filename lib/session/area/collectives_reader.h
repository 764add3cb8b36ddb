// NCCL's communicators and the calls on them (wire/collective.h), as an area stores them.
#pragma once

#include <cstdint>

#include "session/area/area_regions.h"
#include "session/process_record.h"

namespace cudadiag::session {

// Fills communicators, collectives and collectives_called. In the file of a process without NCCL, these regions are
// holes, and are not touched. Sites and threads of `record` must be filled first.
void read_collectives(std::span<const std::byte> area, const AreaRegions& regions, ProcessRecord& record);

}  // namespace cudadiag::session
