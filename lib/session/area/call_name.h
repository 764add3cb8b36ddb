// Finds the name of a call as it appears in source code. cuda.h redirects cuMemcpyDtoH and others to their newest
// versions, and to variants for per-thread default streams.
#pragma once

#include <string>

namespace cudadiag::session {

// Returns "cuMemcpyDtoH" for "cuMemcpyDtoH_v2_ptds".
inline std::string written_name(std::string name) {
  for (const char* suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) name.resize(name.rfind('_'));
  }
  const std::size_t digits = name.find_last_not_of("0123456789");
  const bool versioned = digits != std::string::npos && digits + 1 < name.size() && digits > 0 && name[digits] == 'v' &&
                         name[digits - 1] == '_';
  return versioned ? name.substr(0, digits - 1) : name;
}

// Returns the name of the call that the program itself made: the runtime call if there is one, otherwise the driver
// call.
template <typename Call>
const std::string& visible_call(const Call& call) {
  return call.outer.empty() ? call.call : call.outer;
}

}  // namespace cudadiag::session
