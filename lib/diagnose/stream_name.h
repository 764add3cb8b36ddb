// Makes readable names for streams from their handles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudadiag::diagnose {

// Returns a name such as "default stream" or "stream 0x55d0c8".
std::string stream_name(std::uint64_t handle);
// Like stream_name(), for use within a sentence: "the default stream".
std::string stream_phrase(std::uint64_t handle);
// Like stream_phrase(), for a second stream with the same handle: "the default stream of another context".
std::string other_stream_phrase(std::uint64_t handle);

// Replaces the handles in a text by letters, in the order in which they appear: "stream A" for "stream 0x55d0c8".
class StreamLetters {
 public:
  std::string name(const std::string& text);

 private:
  std::vector<std::string> handles_;
};

}  // namespace cudadiag::diagnose
