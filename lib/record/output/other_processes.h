// The program's other processes: which ones are still running when one ends badly. Their parent then ends them, and no
// recorder sees how.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace cudadiag::record {

// Writes the pids of the live processes that record in the same arena to `text`, in decimal with spaces between, as
// many as fit. Returns an empty text if the arena cannot be reached. Any thread may call it while the process ends.
std::string_view others_at_work(std::span<char> text);

}  // namespace cudadiag::record
