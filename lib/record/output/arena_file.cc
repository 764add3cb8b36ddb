#include "record/output/arena_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <string_view>

#include "wire/arena.h"
#include "wire/names/environment.h"

namespace cudadiag::record {

// Checks the link's target first. A process that outlives its launcher still has the old path, but the process id in
// this path may belong to another process by then. Opening a terminal or device of that process could have side
// effects.
int open_arena(int access) {
  const char* path = getenv(wire::environment::kArena);
  if (path == nullptr) return -1;
  char target[64];
  const ssize_t length = readlink(path, target, sizeof target);
  if (length < 0) return -1;
  const std::string_view found(target, static_cast<std::size_t>(length));
  if (!found.starts_with(wire::arena::kLink)) return -1;
  return ::open(path, access | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

}  // namespace cudadiag::record
