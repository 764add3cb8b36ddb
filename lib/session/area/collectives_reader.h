// NCCL's communicators and the calls on them (wire/collective.h), as an area stores them.
#pragma once

#include <cstdint>

#include "session/area/area_regions.h"
#include "session/process_record.h"

namespace cudadiag::session {

// Fills communicators, collectives and collectives_called. A process without NCCL has holes in its file for these
// regions, which are not touched. Sites and threads of `record` must be filled first.
void read_collectives(std::span<const std::byte> area, const AreaRegions& regions, ProcessRecord& record);

}  // namespace cudadiag::session
