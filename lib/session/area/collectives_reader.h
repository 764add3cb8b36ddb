// Reads NCCL's communicators and the calls on them (wire/collective.h) from an area.
#pragma once

#include <cstdint>

#include "session/area/area_regions.h"
#include "session/process_record.h"

namespace cudadiag::session {

// Fills `communicators`, `collectives` and `collectives_called` of `record`, whose sites and threads must be filled
// first. Does not touch the regions if the process has not used NCCL, because they are then holes in the file.
void read_collectives(std::span<const std::byte> area, const AreaRegions& regions, ProcessRecord& record);

}  // namespace cudadiag::session
