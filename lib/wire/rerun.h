// The requests to a rerun, as text in two environment variables: the operations to wait for, and the Python lines at
// which to read values. Also the lines of text that deliver the values.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The operations that a rerun waits for, as text in one environment variable. Items are separated by commas:
//
//    all                    every operation
//    KEY@FROM               operations of the sites or kernels with this key (16 hex digits, wire/site_key.h),
//                           from each site's FROM-th call on, in decimal
//    KEY@0                  all operations of a site while the Python hook is active; the key omits the native stack
//    node=INDEX/COUNT/KEY@FROM
//                           node INDEX (from 1) of a graph of COUNT nodes, a kernel with this key (0: no name). It is
//                           saved before it runs. The rerun waits for graph launches from their site's FROM-th call on
//    patience=MS            how long one operation may take before the rerun stops waiting altogether
//    near=CALLS             the Python hook becomes active this many calls before the first call that is waited for
namespace cudadiag::wire::window {

inline constexpr std::uint32_t kDefaultPatience = 5000;  // ms
inline constexpr std::size_t kMostKeys = 2048;
inline constexpr std::uint32_t kDefaultNear = 2;
inline constexpr std::size_t kMostNodes = 64;

struct Node {
  std::uint32_t index, count;
  std::uint64_t function;
  std::uint32_t from;
};

// Calls `visit_key(key, from)`, `visit_node(node)`, `visit_all()`, `visit_patience(ms)` and `visit_near(calls)`.
// Returns false at the first item that is not valid.
template <typename VisitKey, typename VisitNode, typename VisitAll, typename VisitPatience, typename VisitNear>
bool parse(std::string_view text, VisitKey visit_key, VisitNode visit_node, VisitAll visit_all,
           VisitPatience visit_patience, VisitNear visit_near) {
  // substr can throw, so it would pull the C++ runtime into the recorder.
  const auto from = [](std::string_view whole, std::size_t at) {
    return at < whole.size() ? std::string_view(whole.data() + at, whole.size() - at) : std::string_view();
  };
  const auto number = [](std::string_view digits, int base, auto& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    return error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  };
  // Returns the text of `rest` before the first `end`, and removes it from `rest` together with `end`.
  const auto part = [&](std::string_view& rest, char end) {
    const std::size_t at = rest.find(end);
    const std::string_view before(rest.data(), at == rest.npos ? rest.size() : at);
    rest = at == rest.npos ? std::string_view() : from(rest, at + 1);
    return before;
  };
  constexpr std::string_view kPatience = "patience=", kNear = "near=", kNode = "node=";
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item(text.data(), comma == text.npos ? text.size() : comma);
    text = from(text, item.size() + 1);
    const std::size_t at = item.find('@');
    std::uint64_t key = 0;
    std::uint32_t count = 0;
    if (item == "all") {
      visit_all();
    } else if (item.starts_with(kPatience)) {
      if (!number(from(item, kPatience.size()), 10, count)) return false;
      visit_patience(count);
    } else if (item.starts_with(kNode)) {
      std::string_view rest = from(item, kNode.size());
      Node node{};
      if (!number(part(rest, '/'), 10, node.index) || !number(part(rest, '/'), 10, node.count) ||
          !number(part(rest, '@'), 16, node.function) || !number(rest, 10, node.from)) {
        return false;
      }
      visit_node(node);
    } else if (item.starts_with(kNear)) {
      if (!number(from(item, kNear.size()), 10, count)) return false;
      visit_near(count);
    } else {
      if (at == item.npos || !number({item.data(), at}, 16, key) || !number(from(item, at + 1), 10, count))
        return false;
      visit_key(key, count);
    }
  }
  return true;
}

}  // namespace cudadiag::wire::window

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
//    watch       its latest values (kWatchedSuffix), in the first run as well. FILE is the end of the
//                path
// These modes do not refer to a Python line:
//    memory      what PyTorch's allocator holds when it runs out of memory
//    nodes       the forward lines of nodes in PyTorch's autograd graph. FUNCTION is the name of the nodes
//                ("GatherBackward0"; "PyNode": nodes of user-defined functions; "*": all)
//    threads     where the threads that reach the Python lines were started, or where their pools were given work
//
// Fields that a mode does not use are 0 or empty. A Python line is omitted if its fields contain a tab or a newline.
namespace cudadiag::wire::values {

inline constexpr std::size_t kMostLines = 64;

}  // namespace cudadiag::wire::values

// The values that the Python hook of a rerun reads in one process: lines in PID.values, next to the process's area.
//
//    TID TICKS TEXT        TICKS: the time, as in operations; TEXT: a JSON object of one of these kinds:
//
// {"kind":"operator", "file":F, "line":L, "operator":"aten::embedding", "arguments":[…]}
//    The operator that the thread calls next; "" if the hook reports nothing about it. If the operations of the line
//    race (rerun.h), it also has "overload", "schema" and "whole" (true if it uses every element of its tensors), and
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
// In a run of `cudadiag nans` (cudadiag_hook/bad_values/value_uses.py), where TICKS is the monotonic clock:
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
// In a run of `cudadiag races --tensors` (lib/python/cudadiag_hook/tensor_races.py), also "checking" and "note":
//
// {"kind":"race", "first":{"operator":"aten::add_.Tensor","parameter":"self","name":"head","view":false,"written":true,
//  "dtype":…,"device":…,"shape":…,"strides":…,"pointer":N,"bytes":N,"stream":N,"on_host":false,"stack":[…]},
//  "second":{…}, "waited_before":false, "begin":N, "end":N, "bytes":N}
//    Two operators use the same bytes in no defined order: "bytes" bytes, between "begin" and "end".
//
// In a run of `cudadiag run --graph-memory` (lib/python/cudadiag_hook/graph_memory.py), also "checking" and
// "note":
//
// {"kind":"recycled", "graph":N, "node":N, "offset":N, "address":N, "begin":N, "bytes":N,
//  "stacks":[FREED,TAKEN,REPLAY]}
//    The thread replays a graph. "node" (an index) of "graph" (an intern id) has the address in its parameters, at byte
//    "offset". When the graph was instantiated, the address was in a block of "bytes" bytes of PyTorch's allocator.
//    FREED gave the block back, and TAKEN got it, or a part of it, for another tensor.
//
// The file is named after the process id that CPython reports. An argument has the members of diagnose::Argument.
// Unknown members are omitted.
namespace cudadiag::wire::delivery {

inline constexpr const char* kSuffix = ".values";
// The suffix of the folder with a saved failing call: call.json and inputs.safetensors
// (lib/python/cudadiag_hook/suspect_lines/failing_call.py).
inline constexpr const char* kInputsSuffix = ".inputs";
inline constexpr const char* kWatchedSuffix = ".watched";
inline constexpr std::size_t kWatched = 64, kWatchedLine = 4096;
inline constexpr std::size_t kMostLine = 32u << 10;
inline constexpr std::size_t kMostBytes = 16u << 20;
inline constexpr const char *kOrigin = "{\"kind\":\"origin\"", *kStopped = "the Python hook stopped: ";

}  // namespace cudadiag::wire::delivery
