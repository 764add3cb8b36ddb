// NCCL's communicators and the calls of them (wire/collective.h), as an area has them.
#pragma once

#include <cstdint>

#include "session/area/area_regions.h"
#include "session/process_record.h"

namespace cudadiag::session {

// Fills communicators, collectives and collectives_called. The regions of a process without NCCL are holes of its file
// and are not touched. Sites and threads of `record` must be there.
void read_collectives(std::span<const std::byte> area, const AreaRegions& regions, ProcessRecord& record);

}  // namespace cudadiag::session
