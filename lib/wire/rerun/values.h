// The Python lines at which a rerun reads values, as text in one environment variable. The first line has the seconds
// that this may take, in decimal. After a tab, it has the size limit in bytes of the failing call's tensors, if they
// are to be saved. Each further line has fields separated by tabs:
//
//    LINE  FIRST  MODE  FUNCTION  FILE     FIRST: first line of the code object; FUNCTION: its qualified name
//
// MODE: "operators", or "variables" if the line leads into compiled code, which a dispatch mode would change.
// "accesses": a line whose operations race. The hook reports the memory that its operators and variables use,
// without values. "arrays": likewise, but only for variables, since the line leads into compiled code. "watch": a
// line whose latest values are kept (kWatchedSuffix of delivery.h), in the first run as well. FILE is the end of
// its path, FIRST 0, FUNCTION empty. "memory": not a line, but what PyTorch's allocator holds when it finds no
// memory. "nodes": not a line, but nodes of PyTorch's autograd graph whose forward lines are wanted. FUNCTION is
// their name ("GatherBackward0"; "PyNode": nodes of user-defined functions; "*": all). "threads": not a line, but
// where the threads that reach the other lines were started, or their pools given work. Fields not named here are 0
// or empty.
// A line whose fields would need a tab or a newline is left out.
#pragma once

#include <cstddef>

namespace cudadiag::wire::values {

inline constexpr std::size_t kMostLines = 64;

}  // namespace cudadiag::wire::values
