// The Python lines at which a rerun reads values, as text in one environment variable. The first line of this text is
// the time limit for reading, in seconds. If the tensors of the failing call are to be saved, a tab and their size
// limit in bytes follow. Each further line has fields separated by tabs:
//
//    LINE  FIRST  MODE  FUNCTION  FILE     FIRST: first line of the code object; FUNCTION: its qualified name
//
// MODE says what to read at the Python line:
//    operators   the arguments of its operators
//    variables   its variables; for lines that call compiled code, because a dispatch mode would change that code
//    accesses    the memory that its operators and variables use, without values; for lines whose operations race
//    arrays      the same for its variables only; for racing lines that call compiled code
//    watch       its latest values (kWatchedSuffix of delivery.h), in the first run as well. FILE is the end of the
//                path
// These modes do not refer to a Python line:
//    memory      what PyTorch's allocator holds when it runs out of memory
//    nodes       the forward lines of nodes in PyTorch's autograd graph. FUNCTION is the name of the nodes
//                ("GatherBackward0"; "PyNode": nodes of user-defined functions; "*": all)
//    threads     where the threads that reach the Python lines were started, or where their pools were given work
//
// Fields that a mode does not use are 0 or empty. A Python line is omitted if its fields contain a tab or a newline.
#pragma once

#include <cstddef>

namespace cudadiag::wire::values {

inline constexpr std::size_t kMostLines = 64;

}  // namespace cudadiag::wire::values
