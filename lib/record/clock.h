// Time as the recorder stamps it.
#pragma once

#include "wire/clock.h"

namespace cudadiag::record {

using wire::nanoseconds;
using wire::ticks;

}  // namespace cudadiag::record
