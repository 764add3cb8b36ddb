// The kinds of work that a call queues on a stream, and their names in reports and files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cudadiag::session {

enum class Work : std::uint8_t {
  call,  // a call that queues none of the following
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

std::string_view word(Work work);
std::optional<Work> work_of(std::string_view word);

}  // namespace cudadiag::session
