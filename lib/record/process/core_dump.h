// Makes the driver write a GPU core dump of this process when a kernel fails (wire/names/core_dump.h).
#pragma once

#include <cstdint>

#include "record/cupti/driver_api.h"
#include "record/output/interner.h"

namespace cudadiag::record {

// `folder` is the folder of the pass, or null. `start` is area::kStartRealtime. Records a property, or a note if the
// driver cannot write a dump.
void arm_core_dump(const DriverApi& driver, Interner& interner, const char* folder, std::uint64_t start);

}  // namespace cudadiag::record
