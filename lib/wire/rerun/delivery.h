// The values that the Python hook of a rerun reads in one process: lines in PID.values, next to the process's area.
//
//    TID TICKS TEXT        TICKS of the operations' clock; TEXT is a JSON object. Its kinds:
//
// {"kind":"operator", "file":F, "line":L, "operator":"aten::embedding", "arguments":[…]}
//    The operator that the thread calls next. At lines whose operations race (values.h) it also has "overload",
//    "schema", and "whole": true if it uses every element of its tensors. Each argument then has "bytes", and "written"
//    as the schema says. After such a call:
// {"kind":"results", …as "operator"…}
//    The operator's results.
// {"kind":"untold", "arguments":[]}
//    From here on, no further calls are written.
//
// {"kind":"line", "file":F, "line":L, "arguments":[…]}
//    The variables of the line that the thread reaches.
//
// {"kind":"forward", "node":"GatherBackward0", "number":N, "stacks":[[[F,L,FUNCTION],…],…]}
//    The node of autograd's graph whose backward function the thread runs from here on, and where the node was created:
//    frames, innermost first; then the frames of the node that ran at that time, and so on. The end of the function is
//    not written, since the operation's record contains the node's number too.
//
// {"kind":"started", "file":F, "line":L, "pool":false, "stacks":[…]}
//    The thread's work at this line began elsewhere: the stack that called threading.Thread.start, or that gave the
//    work to a thread pool. Then come the stacks that started that thread in turn, with frames as above. It is written
//    again when the pool's thread reaches the line with different work.
//
// {"kind":"memory", "asked":N, "reserved":N, "allocated":N, "largest_free":N,
//  "holders":[{"bytes":N,"count":N,"frames":[[F,L,FUNCTION],…]},…],
//  "exceptions":[{"type":T,"file":F,"line":L,"bytes":N},…]}
//    PyTorch's allocator found no memory.
//
// {"kind":"watched", …}
//    In PID.watched instead: as "line", with "visit": the number of this visit to the line in the process. "visits":
//    the visits to each watched line so far, in the order of CUDADIAG_VALUES. "milliseconds": the time spent reading.
//    The first visit to a line is written even if there is nothing to read. The file is a ring of kWatched lines of
//    kWatchedLine bytes, padded with blanks.
//
// In a run of `cudadiag nans` (lib/python/cudadiag_hook/bad_values/bad_results.py), with TICKS of the monotonic clock:
//
// {"kind":"checking", "torch":VERSION}
//    From here on, the process's operators are checked.
//
// {"kind":"note", "text":T}
//    A limit of the checks.
//
// {"kind":"non_finite", "state":"candidate", "root":N, "role":"made", "used":"loss", "used_stack":[[F,L,FUNCTION],…],
//  "operator":"aten::div", "overload":"Tensor", "step":N, "stack":[…], "node":"DivBackward0", "forward_stack":[…],
//  "forward_certain":true, "backward_stack":[…], "module":"layers.0", "module_class":"Block", "dtype":"float32",
//  "shape":[8,1], "index":[3,0], "bad":1, "elements":[{"name":"self","value":"0.0"},…], "arguments":[…],
//  "infinite":{"operator":"aten::exp","stack":[…]}}
//    The program has used a value that descends from operator number N. That operator made, was given ("passed") or got
//    from elsewhere ("loaded", "uninitialised") elements that are not finite. "found": final, and checking ends.
//    A candidate is valid unless {"state":"asked", "root":N} follows: the program checked whether it is finite. "asked
//    last": the program did so shortly before its end, so the candidate counts if the run failed. With "used":"number",
//    "array", "compared" or "refused", it is only suspected that the program used the value. Unknown members are omitted.
//
// In a rerun that traces bad values (lib/python/cudadiag_hook/bad_values/origins.py), also "checking" and "note":
//
// {"kind":"origin", "operator":"aten::embedding", "argument":"indices", "index":[33], "value":511, "certain":true,
//  "stack":[…], "origin":[{"role":"made","operator":"aten::remainder.Scalar","value":511,"stack":[…],
//  "batch":N,"sample":N},…]}
//    An argument of the operator had an element outside of its bound. "origin": where that element came from, then what
//    passed it on; empty if unknown. "value" of a step: the element's value from there on.
//
// In a run of `cudadiag races --tensors` (lib/python/cudadiag_hook/races/tensor_races.py), also "checking" and "note":
//
// {"kind":"race", "first":{"operator":"aten::add_.Tensor","parameter":"self","name":"head","view":false,"written":true,
//  "dtype":…,"device":…,"shape":…,"strides":…,"pointer":N,"bytes":N,"stream":N,"on_host":false,"stack":[…]},
//  "second":{…}, "waited_before":false, "begin":N, "end":N, "bytes":N}
//    Two operators use the same bytes, and nothing orders them: the "bytes" bytes from "begin" to "end".
//
// The file is named after the process id that CPython reports. An argument has the members of diagnose::Argument,
// except those that are unknown.
#pragma once

#include <cstddef>

namespace cudadiag::wire::delivery {

inline constexpr const char* kSuffix = ".values";
// The folder of a saved failing call: call.json and inputs.safetensors
// (lib/python/cudadiag_hook/suspect_lines/inputs.py).
inline constexpr const char* kInputsSuffix = ".inputs";
inline constexpr const char* kWatchedSuffix = ".watched";
inline constexpr std::size_t kWatched = 64, kWatchedLine = 4096;
inline constexpr std::size_t kMostLine = 32u << 10;
inline constexpr std::size_t kMostBytes = 16u << 20;

}  // namespace cudadiag::wire::delivery
