// The kinds of work that a call gives to a stream, as reports and files name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cudadiag::session {

enum class Work : std::uint8_t {
  call,  // a call that issues none of the others
  kernel,
  graph,
  copy,
  memset,
  wait,
  write,
  event,
  host_function,
  allocation,
  free,
};

// "kernel", "host function"
std::string_view word(Work work);
// Returns nullopt if no work has this word.
std::optional<Work> work_of(std::string_view word);

}  // namespace cudadiag::session
