// Processes the sessions of a large job on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace cudadiag::command {

// Calls `work` once for each number below `count`, in increasing order. Uses at most four threads, because each call
// may hold a session in memory. If a call returns false or throws, the calls for smaller numbers still finish, and no
// further calls start. Rethrows the exception of `work`.
void in_parallel(std::size_t count, const std::function<bool(std::size_t)>& work);

}  // namespace cudadiag::command
