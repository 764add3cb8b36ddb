#include "launch/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace cudadiag::launch {

void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Checks for EBADF, because a seccomp filter may make fcntl fail with a different error.
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // Does not open /dev/null, which would swallow error messages, and does not exist everywhere. open() returns the
    // lowest free number.
    const int taken = ::open("/", O_PATH | O_CLOEXEC);
    if (taken > descriptor) ::close(taken);
  }
}

bool was_closed(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags < 0 ? errno == EBADF : (flags & O_PATH) != 0;
}

}  // namespace cudadiag::launch
