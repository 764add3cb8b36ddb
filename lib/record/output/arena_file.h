// The launcher's arena (wire/arena.h) as a file, opened by the name in the environment.
#pragma once

namespace cudadiag::record {

// `access`: O_RDONLY or O_RDWR. -1: there is none, or none that can be reached.
int open_arena(int access);

}  // namespace cudadiag::record
