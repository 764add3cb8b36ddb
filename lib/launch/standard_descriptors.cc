#include "launch/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace cudadiag::launch {

void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // A seccomp filter may make fcntl() fail with an error other than EBADF, although the descriptor is open.
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // Opens "/" rather than /dev/null, because /dev/null may be missing, and would silently discard error messages.
    // open() returns the lowest free number.
    const int taken = ::open("/", O_PATH | O_CLOEXEC);
    if (taken > descriptor) ::close(taken);
  }
}

bool was_closed(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags < 0 ? errno == EBADF : (flags & O_PATH) != 0;
}

}  // namespace cudadiag::launch
