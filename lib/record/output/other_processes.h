// Finds out whether other processes are still running. When one process of a program fails, the parent process may kill
// the others, which no recorder can observe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cudadiag::record {

// Returns whether this pid namespace has a process with this id that has not ended.
bool is_alive(std::uint32_t pid);

// Fills `text` with the pids of the live processes that record in the same arena: decimal numbers separated by spaces,
// as many as fit. Returns an empty text if the arena cannot be opened. Safe to call on any thread, even while the
// process exits.
std::string_view others_at_work(std::span<char> text);

}  // namespace cudadiag::record
