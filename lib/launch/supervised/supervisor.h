// The process between a launcher and a rerun. Everything that the rerun starts descends from the supervisor or is
// adopted by it. No unrelated process can therefore be mistaken for a part of the rerun. When the launcher dies or asks
// for it, the supervisor ends all these processes and removes the rerun's private folder. It also starts the target,
// confined if requested, and decides which system calls an isolated target may issue.
#pragma once

namespace cudadiag::launch {

// Runs the hidden command (supervision::kCommand). Returns the exit status of this process.
int supervise(int argc, char** argv);

}  // namespace cudadiag::launch
