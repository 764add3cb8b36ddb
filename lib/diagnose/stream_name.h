// Names streams by their handles, for people.
#pragma once

#include <cstdint>
#include <string>

namespace cudadiag::diagnose {

// Returns "default stream" or "stream 0x55d0c8".
std::string stream_name(std::uint64_t handle);
// The same within a sentence: "the default stream".
std::string stream_phrase(std::uint64_t handle);
// For a second stream with the same handle: "the default stream of another context".
std::string other_stream_phrase(std::uint64_t handle);

}  // namespace cudadiag::diagnose
