// Reads the calls that returned an error (wire/error.h) from an area.
#pragma once

#include <cstdint>

#include "session/area/area_regions.h"
#include "session/area/intern_reader.h"
#include "session/process_record.h"

namespace cudadiag::session {

// Fills `record.errors` in the order of the calls, and finds the call that caused the freeze. `frozen_slot` is 1 + the
// index of that call in the area, or 0 if there is none.
void read_failed_calls(const AreaRegions& regions, InternStrings& strings, std::uint32_t frozen_slot,
                       ProcessRecord& record);

}  // namespace cudadiag::session
