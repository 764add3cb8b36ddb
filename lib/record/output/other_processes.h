// Finds the program's other processes that are still running when one process fails. Their parent may then kill them,
// and no recorder can see that.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace cudadiag::record {

// Writes the pids of the live processes that record in the same arena to `text`: decimal numbers separated by spaces,
// as many as fit. Returns an empty text if the arena cannot be opened. Any thread may call this while the process ends.
std::string_view others_at_work(std::span<char> text);

}  // namespace cudadiag::record
