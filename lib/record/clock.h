// The clocks that the recorder uses for time stamps.
#pragma once

#include "wire/clock.h"

namespace cudadiag::record {

using wire::nanoseconds;
using wire::ticks;

}  // namespace cudadiag::record
