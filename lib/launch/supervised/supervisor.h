// The process between a launcher and a rerun. All that the rerun starts descends from it and is adopted by it, so that
// no other process is ever taken for one of the rerun; when the launcher dies, or it is asked to end, it ends all of
// them and removes the rerun's private folder. It starts the target, confined if asked to, and answers for what an
// isolated target may do.
#pragma once

namespace cudadiag::launch {

// The hidden command (supervision::kCommand); the exit status of this process.
int supervise(int argc, char** argv);

}  // namespace cudadiag::launch
