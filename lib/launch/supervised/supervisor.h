// The supervisor process between a launcher and a rerun, which owns everything that the rerun starts. All processes of
// the rerun descend from the supervisor or are adopted by it, so no unrelated process is mistaken for one of them. It
// kills them and removes the private folder when the launcher dies or asks for it. It also starts the target and, if
// isolation is requested, confines it and checks its system calls.
#pragma once

namespace cudadiag::launch {

// Runs the hidden command (supervision::kCommand). Returns the exit status of this process.
int supervise(int argc, char** argv);

}  // namespace cudadiag::launch
