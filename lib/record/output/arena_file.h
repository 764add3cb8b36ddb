// Opens the launcher's arena (wire/arena.h), whose path is in an environment variable.
#pragma once

namespace cudadiag::record {

// `access` is O_RDONLY or O_RDWR. Returns -1 if the arena is missing or cannot be opened.
int open_arena(int access);

}  // namespace cudadiag::record
