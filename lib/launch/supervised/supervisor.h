// The process between a launcher and a rerun. Everything that the rerun starts descends from it or is adopted by it, so
// no other process is ever mistaken for one of the rerun's. When the launcher dies or asks it to end, it ends all these
// processes and removes the rerun's private folder. It starts the target, confined if requested, and decides which
// system calls an isolated target may make.
#pragma once

namespace cudadiag::launch {

// Runs the hidden command (supervision::kCommand). Returns the exit status of this process.
int supervise(int argc, char** argv);

}  // namespace cudadiag::launch
