// The parameters of recent kernel launches (wire/launch_parameters.h), as an area has them.
#pragma once

#include "session/area/area_regions.h"
#include "session/process_record.h"

namespace cudadiag::session {

// Adds the parameters of the kernels among `record.operations` to `record.arguments`, as far as they are still kept.
void read_launch_parameters(const AreaRegions& regions, ProcessRecord& record);

}  // namespace cudadiag::session
