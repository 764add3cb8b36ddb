#include "launch/standard_descriptors.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
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

void close_all_but(std::span<const int> kept) {
  unsigned first = STDERR_FILENO + 1;
  for (unsigned next = 0; next != ~0u; first = next + 1) {
    next = ~0u;
    for (const int number : kept) {
      const auto each = static_cast<unsigned>(number);
      if (number >= 0 && each >= first) next = std::min(next, each);
    }
    if (next == first || ::syscall(SYS_close_range, first, next - 1, 0) == 0) continue;  // Linux 5.9
    constexpr unsigned kMost = 4096;
    for (unsigned number = first; number < std::min(next, kMost); ++number) ::close(static_cast<int>(number));
  }
}

bool was_closed(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags < 0 ? errno == EBADF : (flags & O_PATH) != 0;
}

}  // namespace cudadiag::launch
