// Work on the sessions of a large job, several at a time.
#pragma once

#include <cstddef>
#include <functional>

namespace cudadiag::command {

// Calls `work` with each number below `count` once, in increasing order, on at most four threads: each may have a
// session in memory. If a call returns false or throws, all smaller numbers are still finished, and larger ones are not
// begun. Throws what `work` threw.
void in_parallel(std::size_t count, const std::function<bool(std::size_t)>& work);

}  // namespace cudadiag::command
