#include "session/host_name.h"

#include <limits.h>
#include <unistd.h>

#include <array>

namespace cudadiag::session {

std::string host_name() {
  // A name that just fits may lack its terminating NUL.
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace cudadiag::session
