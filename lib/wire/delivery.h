// What the Python hook of a rerun tells of one process: lines in PID.values, beside its area.
//
//    TID TICKS TEXT        TICKS of the clock of the operations; TEXT is a JSON object, by kind:
//
// {"kind":"operator", "file":F, "line":L, "operator":"aten::embedding", "arguments":[…]}   what the thread calls next
// {"kind":"line", "file":F, "line":L, "arguments":[…]}                            what stands at the line that it comes
// to
// {"kind":"forward", "node":"GatherBackward0", "number":N, "stacks":[[[F,L,FUNCTION],…],…]}   which node of autograd's
// graph the thread runs backwards from here on, and where it was made: frames, innermost first; then those of the node
// in whose run it was made, and so on. Its end is not told: the operation's record has the number too.
//
// {"kind":"started", "file":F, "line":L, "pool":false, "stacks":[…]}   what the thread does at this line was begun
// elsewhere: the stack that called threading.Thread.start, or of a pool of threads the one that gave it the work, and
// those behind that one in turn, frames as above. Told again when the thread of a pool comes there with other work.
//
// {"kind":"memory", "asked":N, "reserved":N, "allocated":N, "largest_free":N,
// "holders":[{"bytes":N,"count":N,"frames":[[F, L,FUNCTION],…]},…],
// "exceptions":[{"type":T,"file":F,"line":L,"bytes":N},…]}   PyTorch's allocator found no memory
// Of lines whose operations race (values.h), "operator" has "overload", "schema", and "whole": true where it uses every
// element of its tensors; each argument has "bytes", and "written" as the schema says. Behind the call
//
// {"kind":"results", …as "operator"…}    what it made
// {"kind":"untold", "arguments":[]}      from here on calls are left out
//
// {"kind":"watched", …}   in PID.watched instead: as "line", with "visit": which one of the process's to this line,
// "visits": how many each watched line has had so far, in the order of CUDADIAG_VALUES, and "milliseconds": what
// reading them has taken. The first visit to a line is told even if there is nothing to be read. A ring of kWatched
// lines of kWatchedLine bytes, filled with blanks.
//
// The file is as CPython has it. Members of an argument are those of report::Argument; what is
// not known is left out.
#pragma once

#include <cstddef>

namespace cudadiag::wire::delivery {

inline constexpr const char* kSuffix = ".values";
// A folder with the failing call: call.json, inputs.safetensors (lib/record/hook/values/inputs.py).
inline constexpr const char* kInputsSuffix = ".inputs";
inline constexpr const char* kWatchedSuffix = ".watched";
inline constexpr std::size_t kWatched = 64, kWatchedLine = 4096;
inline constexpr std::size_t kMostLine = 32u << 10;
inline constexpr std::size_t kMostBytes = 16u << 20;

}  // namespace cudadiag::wire::delivery
