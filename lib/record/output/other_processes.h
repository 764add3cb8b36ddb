// The program's other processes: which ones are still at work when one ends badly. Their parent then ends them, and no
// recorder sees how.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace cudadiag::record {

// Pids of those that record in the same arena and live, in decimal with spaces between, as many as fit; in `text`.
// Empty also if the arena cannot be reached. May be asked while the process ends, of any thread.
std::string_view others_at_work(std::span<char> text);

}  // namespace cudadiag::record
