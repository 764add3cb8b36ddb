// The parties of a hang: what an operation waits for, and where the ranks of a job diverge.
#pragma once

#include "analyse/hangs/unfinished_work.h"

namespace cudadiag::diagnose {

using WaitsFor = analyse::StreamWait::For;

// `absence`: some ranks have not reached the collective. `none`: all have called the same number, in the same way.
// `circle`: each rank waits for the next one.
enum class RanksDifference { none, absence, line, kernel, blocks, circle };

}  // namespace cudadiag::diagnose
