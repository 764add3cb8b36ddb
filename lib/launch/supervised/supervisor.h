// The supervisor process between a launcher and a rerun. All processes of the rerun descend from the supervisor or are
// adopted by it, so no unrelated process is mistaken for one of them. When the launcher dies or requests it, the
// supervisor kills these processes and removes the private folder. The supervisor also starts the target. If isolation
// is requested, it confines the target and checks its system calls.
#pragma once

namespace cudadiag::launch {

// Runs the hidden command (supervision::kCommand). Returns the exit status of this process.
int supervise(int argc, char** argv);

}  // namespace cudadiag::launch
