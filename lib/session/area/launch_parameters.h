// Reads the parameters of recent kernel launches (wire/launch_parameters.h) from an area.
#pragma once

#include <cstdint>
#include <string>

#include "session/area/area_regions.h"
#include "session/process_record.h"

namespace cudadiag::session {

// Adds the parameters of the kernels in `record.operations` to `record.arguments`, if the area still has them. Also adds
// the contents of copies that may have filled tables of addresses.
void read_launch_parameters(const AreaRegions& regions, ProcessRecord& record);

// Returns the bytes of one launch's parameters. `serial` is truncated to 32 bits.
std::string parameter_bytes(const AreaRegions& regions, std::uint32_t thread, std::uint32_t serial);

}  // namespace cudadiag::session
