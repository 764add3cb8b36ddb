#include "session/host_name.h"

#include <limits.h>
#include <unistd.h>

#include <array>

namespace cudadiag::session {

std::string host_name() {
  // Leaves room for a NUL, because gethostname need not terminate a name that just fits.
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace cudadiag::session
