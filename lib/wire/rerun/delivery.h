// The values that the Python hook of a rerun reads in one process: lines in PID.values, next to the process's area.
//
//    TID TICKS TEXT        TICKS: the time, as in operations; TEXT: a JSON object of one of these kinds:
//
// {"kind":"operator", "file":F, "line":L, "operator":"aten::embedding", "arguments":[…]}
//    The operator that the thread calls next; "" if the hook reports nothing about it. If the operations of the line
//    race (values.h), it also has "overload", "schema" and "whole" (true if it uses every element of its tensors), and
//    each argument has "bytes" and "written" (true if the schema says that the operator writes it). After the call:
// {"kind":"results", …as "operator"…}
//    The operator's results.
// {"kind":"untold", "arguments":[]}
//    Later calls are not written.
//
// {"kind":"line", "file":F, "line":L, "arguments":[…]}
//    The variables of the line that the thread reaches.
//
// {"kind":"forward", "node":"GatherBackward0", "number":N, "stacks":[[[F,L,FUNCTION],…],…]}
//    The thread begins to run the backward function of this autograd node. "stacks": where the node was created,
//    innermost frame first. If another node's backward function created it, the next stack is where that other node was
//    created, and so on. The end of the function is not written, because each operation's record has the node's number.
//
// {"kind":"started", "file":F, "line":L, "pool":false, "stacks":[…]}
//    Where the thread's work at this line was started: the stack that called threading.Thread.start, or that gave the
//    work to a thread pool. The next stack is where the calling thread was started, and so on. It is written again when
//    a thread of a pool reaches the line with different work.
//
// {"kind":"memory", "asked":N, "reserved":N, "allocated":N, "largest_free":N,
//  "holders":[{"bytes":N,"count":N,"frames":[[F,L,FUNCTION],…]},…],
//  "exceptions":[{"type":T,"file":F,"line":L,"bytes":N},…]}
//    PyTorch's allocator ran out of memory.
//
// {"kind":"watched", …}
//    Written to PID.watched instead. Like "line", with "visit": the number of this visit to the line in the process;
//    "visits": the number of visits to each watched line so far, in the order of CUDADIAG_VALUES; "milliseconds": the
//    time spent reading. The first visit to a line is written even if there is nothing to read. The file is a ring of
//    kWatched lines of kWatchedLine bytes, padded with blanks.
//
// In a run of `cudadiag nans` (lib/python/cudadiag_hook/bad_values/bad_results.py), where TICKS is the monotonic clock:
//
// {"kind":"checking", "torch":VERSION}
//    The hook checks the process's operators from here on.
//
// {"kind":"note", "text":T}
//    A limitation of the checks.
//
// {"kind":"non_finite", "state":"candidate", "root":N, "role":"made", "used":"loss", "used_stack":[[F,L,FUNCTION],…],
//  "operator":"aten::div", "overload":"Tensor", "step":N, "stack":[…], "node":"DivBackward0", "forward_stack":[…],
//  "forward_certain":true, "backward_stack":[…], "module":"layers.0", "module_class":"Block", "dtype":"float32",
//  "shape":[8,1], "index":[3,0], "bad":1, "elements":[{"name":"self","value":"0.0"},…], "arguments":[…],
//  "infinite":{"operator":"aten::exp","stack":[…]}}
//    The program has used a value that was computed from the result of operator number N. "role": that operator
//    produced the elements that are not finite ("made"), received them ("passed"), or read them from elsewhere
//    ("loaded", "uninitialised"). State "found" is final, and checking ends. A "candidate" is withdrawn if
//    {"state":"asked", "root":N} follows: the program itself checked whether the value is finite. "asked last": it
//    checked shortly before its end, so the candidate is withdrawn only if the run succeeded. If "used" is "number",
//    "array", "compared" or "refused", it is not certain that the program used the value. Unknown members are omitted.
//
// In a rerun that traces bad values (lib/python/cudadiag_hook/bad_values/origins.py), also "checking" and "note":
//
// {"kind":"origin", "operator":"aten::embedding", "argument":"indices", "index":[33], "value":511, "certain":true,
//  "stack":[…], "origin":[{"role":"made","operator":"aten::remainder.Scalar","value":511,"stack":[…],
//  "batch":N,"sample":N},…]}
//    An argument of the operator had an element that is out of bounds. "origin": where that element came from, then the
//    operators that passed it on; empty if unknown. "value" of a step: the element's value after that step. If a note
//    with kStopped follows, the process has nothing more to tell.
//
// In a run of `cudadiag races --tensors` (lib/python/cudadiag_hook/races/tensor_races.py), also "checking" and "note":
//
// {"kind":"race", "first":{"operator":"aten::add_.Tensor","parameter":"self","name":"head","view":false,"written":true,
//  "dtype":…,"device":…,"shape":…,"strides":…,"pointer":N,"bytes":N,"stream":N,"on_host":false,"stack":[…]},
//  "second":{…}, "waited_before":false, "begin":N, "end":N, "bytes":N}
//    Two operators use the same bytes in no defined order: "bytes" bytes, between "begin" and "end".
//
// In a run of `cudadiag run --graph-memory` (lib/python/cudadiag_hook/races/graph_memory.py), also "checking" and "note":
//
// {"kind":"recycled", "graph":N, "node":N, "offset":N, "address":N, "begin":N, "bytes":N, "stacks":[FREED,TAKEN,REPLAY]}
//    The thread replays a graph. "node" (an index) of "graph" (an intern id) has the address in its parameters, at byte
//    "offset". When the graph was instantiated, the address was in a block of "bytes" bytes of PyTorch's allocator.
//    FREED gave the block back, and TAKEN got it, or a part of it, for another tensor.
//
// The file is named after the process id that CPython reports. An argument has the members of diagnose::Argument.
// Unknown members are omitted.
#pragma once

#include <cstddef>

namespace cudadiag::wire::delivery {

inline constexpr const char* kSuffix = ".values";
// The suffix of the folder with a saved failing call: call.json and inputs.safetensors
// (lib/python/cudadiag_hook/suspect_lines/inputs.py).
inline constexpr const char* kInputsSuffix = ".inputs";
inline constexpr const char* kWatchedSuffix = ".watched";
inline constexpr std::size_t kWatched = 64, kWatchedLine = 4096;
inline constexpr std::size_t kMostLine = 32u << 10;
inline constexpr std::size_t kMostBytes = 16u << 20;
inline constexpr const char *kOrigin = "{\"kind\":\"origin\"", *kStopped = "the Python hook stopped: ";

}  // namespace cudadiag::wire::delivery
