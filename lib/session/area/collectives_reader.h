// Reads NCCL's communicators and the calls on them (wire/collective.h) from an area.
#pragma once

#include <cstdint>

#include "session/area/area_regions.h"
#include "session/process_record.h"

namespace cudadiag::session {

// Fills `communicators`, `collectives` and `collectives_called` of `record`. The sites and threads of `record` must be
// filled first. If the process has not used NCCL, the regions are holes in the file. They are then not read, because
// reading holes allocates memory.
void read_collectives(std::span<const std::byte> area, const AreaRegions& regions, ProcessRecord& record);

}  // namespace cudadiag::session
