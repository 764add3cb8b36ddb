// Facts of a hang: what an operation waits for, and how the ranks of a job diverge.
#pragma once

#include "analyse/unfinished_work.h"

namespace cudadiag::diagnose {

using WaitsFor = analyse::StreamWait::For;

// `absence`: some ranks have not reached the collective. `none`: all ranks made the same calls in the same way.
// `circle`: each rank waits for the next one.
enum class RanksDifference { none, absence, line, kernel, blocks, circle };

}  // namespace cudadiag::diagnose
