#include "analyse/reruns/same_call.h"

namespace cudadiag::analyse {

SameCall same_call(const session::Process& process, const SameLine& same_line) {
  return [&](const session::FailedCall& a, const session::FailedCall& b) {
    if (a.code != b.code || a.call != b.call) return false;
    return a.site == b.site || (same_line && same_line(process, a.site, b.site));
  };
}

}  // namespace cudadiag::analyse
