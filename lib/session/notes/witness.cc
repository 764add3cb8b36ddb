#include "session/notes/witness.h"

namespace cudadiag::session {

std::string how_it_failed(const ProcessEnd& end, const std::string& cut_short) {
  if (!cut_short.empty()) return cut_short;
  if (end.signal) return "signal " + std::to_string(*end.signal);
  if (!end.code) return "its end is unknown";
  return *end.code == 0 ? "" : "status " + std::to_string(*end.code);
}

}  // namespace cudadiag::session
