// Finds the program's other processes that are still running when one process fails. The parent process may then kill
// them, which no recorder can observe.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace cudadiag::record {

// Fills `text` with the pids of the live processes that record in the same arena: decimal numbers separated by spaces,
// as many as fit. Returns an empty text if the arena cannot be opened. Safe to call on any thread, even while the
// process exits.
std::string_view others_at_work(std::span<char> text);

}  // namespace cudadiag::record
