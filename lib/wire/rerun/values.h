// The lines of Python at which a rerun takes values, as text in one environment variable. The first line has the
// seconds that this may take, in decimal, and after a tab the most bytes of the failing call's tensors, if they are to
// be saved. Each further line has fields separated by tabs:
//
//    LINE  FIRST  MODE  FUNCTION  FILE     FIRST: first line of the code object; FUNCTION: its qualified name
//
// MODE: "operators", or "variables" where the line leads into compiled code, which a dispatch mode would change.
// "accesses": a line whose operations race: the memory that its operators and variables lie in is told, without values;
// "arrays": likewise, of its variables alone, as it leads into compiled code. "watch": a line of which the latest
// values are kept (kWatchedSuffix of delivery.h), in the first run as well; FILE is how its path ends, FIRST 0,
// FUNCTION empty. "memory": no line, but what PyTorch's allocator holds when it finds no memory; the other fields are 0
// or empty. "nodes": no line, but nodes of PyTorch's autograd graph whose forward lines are wanted; FUNCTION is their
// name ("GatherBackward0"; "PyNode": those of the user's own functions; "*": all), the other fields are 0 or empty.
// "threads": no line, but where the threads were started, or the pools given their work, that come to the other lines;
// the other fields are 0 or empty.
// Fields that would need a tab or a newline in them do not occur: such a line is left out.
#pragma once

#include <cstddef>

namespace cudadiag::wire::values {

inline constexpr std::size_t kMostLines = 64;

}  // namespace cudadiag::wire::values
