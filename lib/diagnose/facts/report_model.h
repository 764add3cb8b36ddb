// The model: the data of a report, which the writers print as text, JSON, SARIF and HTML. `diagnose` (diagnosis.cc)
// builds it; the writers only format it. The members follow the contract "cudadiag.report/1" (report.schema.json). In
// JSON, optional members are null or empty, never absent.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/unfinished_work.h"
#include "diagnose/facts/address_relation.h"
#include "diagnose/facts/argument.h"
#include "diagnose/facts/place.h"
#include "sass/failing_address.h"
#include "session/saved_results.h"
#include "session/session.h"
#include "symbolize/source_file.h"
#include "symbolize/source_stack.h"

namespace cudadiag::diagnose {

using WaitsFor = analyse::StreamWait::For;

// How the ranks of a job diverge in a hang. `absence`: some ranks have not reached the collective. `none`: all ranks
// made the same calls in the same way. `circle`: each rank waits for the next one.
enum class RanksDifference { none, absence, line, kernel, blocks, circle };

// How a line in Finding::related is related to the finding.
enum class Role {
  forward,   // created the autograd node of a backward kernel
  backward,  // called backward()
  started,   // started the thread that issued the operation
  eager,     // failed in a rerun without torch.compile
  source,    // source of a compiled kernel, according to the names in the generated code
  called,    // called the compiled function
  caller,    // Python line that called the native one
  capture,   // captured the graph or its node; for a broken capture, began the capture
  update,    // changed the parameters of the graph's node
  replay,    // launched the graph
  allocated,
  freed,
  taken,      // allocated memory that a graph still uses, after it was freed
  written,    // wrote, or may have written, the memory that the host changed or from which a bad pointer was read
  swallowed,  // made the call that failed earlier on the same thread
  fork,       // forked this process
  used,       // used a value that is not finite
  infinite,   // produced the infinite element that became NaN
  unchanged,  // made the last call after which host memory was unchanged
  changed,    // made the next call, before which the host memory had changed
};

struct Related {
  Role role = Role::caller;
  Location location;
  std::optional<analyse::Fact> known_by{};  // for forward and eager lines, and for those of changed host memory
};

struct NodeNumber {
  std::uint32_t index = 0, of = 0;  // node `index` of `of` nodes, counted from 1
  std::uint32_t nodes = 1;          // how many of the line's nodes may have failed; `index` is the first of them
};

struct Launch {
  session::Work operation = session::Work::call;
  std::string kernel, mangled;
  std::array<std::uint32_t, 3> grid{}, block{};  // all 0 if unknown
  std::uint32_t shared_bytes = 0;
  std::array<std::uint32_t, 3> cluster{};  // of a refused launch; all 0 if there are no clusters, or if this is unknown
  std::uint64_t stream = 0;
  std::optional<std::uint32_t> device;
  std::optional<std::uint64_t> process_ordinal, stream_ordinal, site_ordinal;
  std::string counted;  // what site_ordinal counts (line_resolver.h); empty if that cannot be said
  std::uint32_t thread = 0;
  bool by_hooks = false;                 // recorded by hooks, not by CUPTI
  std::optional<NodeNumber> graph_node;  // `operation` and `kernel` describe this node, other members the launch
  std::optional<std::uint32_t> replay;  // for graphs and their nodes: the number of this launch of the executable graph
  std::optional<std::uint64_t> kernel_ordinal;  // number among the process's kernels, if all are known

  bool shape_known() const { return grid != std::array<std::uint32_t, 3>{} || block != grid; }
  bool has_shape_of(const Launch& other) const {
    return grid == other.grid && block == other.block && shared_bytes == other.shared_bytes;
  }
  void forget_shape() {
    grid = block = {};
    shared_bytes = 0;
  }
};

// Evidence from the GPU, usually from a rerun: a core dump, or a printed assertion.
struct Device {
  std::string exception, function, file, message;  // for an assertion, `message` is its condition
  int line = 0;                                    // 0 if unknown
  std::uint64_t offset = 0;                        // offset in `function`, for code without line information
  std::vector<Location> inlined;                   // functions of CUDA's headers inlined into the line, innermost first
  std::vector<Location> callers;                   // calls through which the line was inlined, innermost first
  std::optional<std::array<std::uint32_t, 3>> block, thread;  // the first that failed; nullopt if it has exited
  std::optional<std::uint64_t> threads, blocks;               // how many threads and blocks failed
  bool asserted = false;
  bool of_first_run = false;   // the core dump comes from the first run
  std::size_t assertions = 0;  // how many different assertions were printed; 0 if `message` is not an assertion
  std::string join;            // how the evidence matches the launch: "same kernel, grid and block"
  std::string child;           // the kernel that failed, if the launched kernel launched it on the GPU; otherwise empty
  bool line_by_sanitizer = false, threads_by_sanitizer = false;  // from compute-sanitizer, not from the dump
};

// An invalid access that compute-sanitizer found in a separate rerun.
struct Memory {
  std::string space, mode, problem;  // "global", "write", "out of bounds"
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> address;
  std::optional<std::uint64_t> allocation, allocation_bytes;  // address and size of the nearest allocation
  std::string text;                                           // all of the above in words
  std::string function, file;
  int line = 0;
  std::array<std::uint32_t, 3> block{}, thread{};
  std::size_t accesses = 0;  // how many invalid accesses were printed for this kernel
};

// The access that failed, usually from the GPU core dump of a rerun. The recorded launch of the same kernel shows how
// the address relates to memory. Addresses differ between the two runs, so distances are measured from the parameter.
// Without a dump, the kernel's code may show which access must have failed.
struct Access {
  bool by_code = false;    // inferred from the code; the distance is that of the farthest thread
  bool by_replay = false;  // measured by compute-sanitizer in a replay of the saved launch
  sass::AccessKind kind = sass::AccessKind::load;
  sass::Space space = sass::Space::global;
  std::uint32_t bytes = 0;                    // 0 if unknown
  std::optional<std::uint64_t> address{};     // accessed by the first failing thread, in the dump or the replay
  std::optional<std::uint32_t> parameter{};   // number (from 1) of the parameter that the address was computed from
  std::uint32_t parameter_byte = 0;           // byte offset of the pointer in the parameter
  std::vector<std::uint64_t> loaded{};        // see analyse::OperationArgument; empty if the parameter is the pointer
  std::optional<std::uint64_t> pointer{};     // the parameter's value; in a rerun's dump, that of the rerun
  std::string parameter_name{};               // declared name of the pointer; empty if unknown
  std::string variable{};                     // the `__device__` variable to which it belongs; empty if there is none
  std::optional<PointedMemory> allocation{};  // the memory that the parameter pointed to, or the variable
  // The nearest memory below an address that was read from memory. If it is unknown from what the address was computed:
  // the nearest memory that the kernel received.
  std::optional<PointedMemory> nearest{};
  Relation relation = Relation::unknown;
  std::optional<std::uint64_t> distance{};  // past the end, before the beginning, or past a multiple of the access size
  std::optional<std::uint64_t> farthest{};  // the largest distance among the threads with this relation
  std::optional<std::array<std::uint32_t, 3>> block{}, thread{};  // the first thread with this relation
  std::uint64_t threads = 0;                                      // how many threads have this relation; 0 if unknown
  std::uint64_t others = 0;           // threads of the same warps whose addresses are valid or unknown
  bool overflow = false;              // moved by 2^32 elements, the address would be inside the allocation
  bool outside = false;               // the address is unknown, but outside the live memory at the parameter
  bool from_memory = false;           // the kernel read the pointer from memory
  std::string table{};                // that memory, if it is known: "parameter 1's memory"
  std::string written_by{};           // the operation that received or wrote that memory last: "make_rows()", "a copy"
  std::optional<Location> written{};  // the line of that operation (also in `related`)
};

inline std::string variable_words(const std::string& name) { return name + " (a __device__ variable)"; }

// Returns what a failing access goes through, which must have a parameter: "parameter 1 at byte 8", or "byte 16 of
// parameter 1's memory" if the pointer was read from memory.
inline std::string through_words(const Access& access) {
  std::string text = "parameter " + std::to_string(*access.parameter);
  if (access.parameter_byte != 0) text += " at byte " + std::to_string(access.parameter_byte);
  for (std::size_t i = 0; i < access.loaded.size(); ++i) {
    const std::string memory = i == 0 ? text + "'s memory" : "the memory at " + text;
    text = "byte " + std::to_string(access.loaded[i]) + " of " + memory;
  }
  return text;
}

// The call that returned the error, if no GPU work failed.
struct RefusedCall {
  std::string name;                      // by the name that the program used: "cudaMalloc"
  std::string explanation;               // the driver's or the memory pool's own message; empty if it gave none
  std::string host_side;                 // the side that a copy treats as host memory: "destination" | "source"
  std::uint64_t bytes = 0;               // requested by the call
  std::optional<std::uint64_t> free;     // bytes free on the device right after the call
  std::uint64_t most_threads = 0;        // for a launch: threads in a block that the kernel allows; 0 if unknown
  std::uint64_t most_shared = 0;         // for a launch: bytes of dynamic shared memory that the kernel allows
  std::optional<PointedMemory> freed{};  // for a free: the recorded memory that the pointer belongs to
  bool breaks_other_threads_capture = false;
};

// The values at a line that the user asked to watch.
struct Watched {
  Location location;
  std::uint64_t visit = 0;
  std::uint32_t thread = 0;
  std::vector<Argument> arguments;
};

// The call of the failing operator, as saved in a rerun.
struct Inputs {
  std::string folder, op;
  std::uint64_t bytes = 0;
  std::size_t tensors = 0;
  std::vector<std::string> missing;  // parts that the rerun could not save exactly
  std::string outcome;  // result of the script: "reproduces", "does not reproduce", "could not be run", "not run"
};

// The failing launch, as saved in a rerun and then replayed alone.
struct SavedLaunch {
  std::string folder;
  session::ReplayTally tally;
  bool failed_alone = false;  // a rerun proved that it failed with nothing else on the GPU
};

struct MemoryHolder {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  Location location;
  std::string owner;  // see PointedMemory::owner
};

struct OtherProcess {
  std::uint32_t pid = 0;
  std::string name;
  std::uint64_t bytes = 0;
};

// The report of PyTorch's allocator from a rerun that ran out of memory.
struct TensorMemory {
  std::uint64_t reserved = 0, allocated = 0, largest_free = 0;
  std::vector<MemoryHolder> holders;  // one for each line of the user's code, largest first
  // An exception whose traceback kept tensors alive: its type, and where it was raised.
  struct Exception {
    std::string type;
    Location location;
    std::uint64_t bytes = 0;
  };
  std::vector<Exception> exceptions;
  std::size_t times = 1;  // how many times memory ran out, including the last
};

// The memory in use when a call ran out of memory, by holder.
struct MemoryUse {
  bool of_host = false;                      // the call requested pinned memory
  std::uint64_t asked = 0;                   // 0 if unknown
  std::optional<std::uint64_t> free, total;  // bytes of the device
  std::uint64_t held = 0, peak = 0;          // bytes that this process held: at the failing call, and at most
  bool whole = true;                         // every allocation of the process was recorded
  std::vector<MemoryHolder> holders;         // one for each line, largest first
  std::vector<OtherProcess> others;          // processes on the same device, after this process had ended
  std::optional<TensorMemory> tensors;
};

// A tensor's role in the operator; `variable` if the operator is unknown.
enum class TensorRole { argument, result, variable };

// The memory of an access, as Python reported it in a rerun: a PyTorch tensor, or an array of another library.
struct RaceTensor : session::TensorType {
  std::string name;   // the user's variable; empty if the line names none
  bool view = false;  // the tensor is a view of that variable
  TensorRole role = TensorRole::argument;
  std::string argument;              // name of the argument or the result in the operator's schema
  std::optional<bool> written;       // according to the schema; nullopt if the schema is not reliable
  std::uint64_t begin = 0, end = 0;  // addresses in the first run
};

// One of two accesses that race.
struct ResolvedAccess {
  session::Work operation = session::Work::call;  // kernel, copy, memset, allocation or free
  std::string kernel, mangled;                    // for kernels
  session::RaceMode mode = session::RaceMode::unknown;
  std::uint64_t stream = 0;
  bool on_host = false;  // the program's own code on the CPU, without a stream
  std::uint64_t begin = 0, end = 0;
  bool exact = false;       // if false, only `begin` is known: it was passed to a kernel
  bool somewhere = false;   // if not exact: the access uses an unknown part of `begin`..`end`
  std::uint64_t array = 0;  // CUarray; `begin` and `end` count from its first byte. 0: they are addresses
  std::string op, schema;   // "aten::add_.Tensor"; empty if unknown
  std::optional<RaceTensor> tensor;
  bool judged_by_schema = false;  // `mode` comes from the schema, not from the call (copies) or the code (kernels)
  std::uint32_t graph_node = 0;   // number of the node, from 1; 0 if none
  // The thread that makes the access, in a race inside one launch. `location` is then the line of the device code.
  std::optional<std::array<std::uint32_t, 3>> block, thread;
  Location location;
  symbolize::SourceStack stack;
};

// The range of the bytes that both accesses use.
struct RaceOverlap {
  std::uint64_t begin = 0, end = 0;  // addresses in the first run
  std::uint64_t bytes = 0;           // bytes in both accesses; fewer than end - begin if there are gaps
};

// Two accesses that race, because nothing orders their operations. The finding's location is the line that issued the
// later operation.
struct ResolvedRace {
  std::vector<ResolvedAccess> accesses;  // both accesses, in the order of issue
  std::string missing;                   // the missing order between them, in words
  std::string rerun;                     // says that a rerun did not show the race; empty if it did, or without a rerun
  bool possible = false;                 // not certain to be a race; the finding's evidence gives the reason
  std::uint64_t times = 1;
  std::optional<PointedMemory> allocation;
  std::optional<RaceOverlap> overlap;  // overlap of the two tensors; nullopt if unknown
};

// Why the operation failed, according to a rule.
struct Cause {
  std::string id;    // "index-out-of-range"
  std::string text;  // one or two sentences, with the values filled in
  std::vector<std::pair<std::string, std::string>> facts;
  std::string link;                // address of the documentation
  bool certain = false;            // if false, the text says "often" or "probably"
  std::vector<std::size_t> proof;  // indices in Finding::arguments
};

// A kernel that PyTorch's autograd launched. `related` has the line that created the node ("forward") and the line that
// called backward() ("backward"), if known.
struct Backward {
  std::string node;     // "GatherBackward0"; empty if the kernel adds up gradients, or if unknown
  std::string because;  // why the forward line is unknown
  bool leads = false;   // the forward line is the true line: no user code ran in the backward pass
};

// How a thread that runs none of the user's code was started. The finding's location is the line that started the
// thread. That line is also in `related`, as "started", but not in Finding::stack.
struct ThreadStart {
  Location issued;                            // the library's line that issued the operation
  bool pool = false;                          // the line gave the work to a thread pool
  std::vector<symbolize::PythonFrame> stack;  // the stack that started the thread, innermost first
};

// A finding in a function that torch.compile compiled. The launch's stack does not have the line inside this function.
struct Compiled {
  std::string function;
  Location called;      // the user's line that called the function; unknown if no user code did
  bool inside = false;  // the finding's location is inferred and inside the function; if false, it is `called`
};

// All candidates on one true line. `launch` describes the likeliest of them.
struct CandidateLine {
  Location location;
  Launch launch;
  std::string because;
  std::size_t launches = 1;
  std::vector<std::string> kernels{};  // mangled names if the line's nodes run several kernels, else empty
};

// A command for the user to paste, quoted for a shell.
struct WitnessCommand {
  std::string text;
  bool runs_target = false;  // append the report's command to it
};

// A point in time of a process.
struct Moment {
  double unix_seconds = 0;  // since the epoch
  double since_cuda = 0;    // seconds since the process initialised CUDA
};

// How the program noticed the failure, or cudadiag did.
struct Noticed {
  std::optional<Location> at;  // nullopt if the program never checked
  std::string api;      // the call that returned the error, such as "cudaMemcpy"; for a hang, the call that waits
  std::string library;  // "libcublas.so.13": the library that made that call
  std::optional<Moment> when;  // when that call returned the error; nullopt if no call returned it
  bool at_exit = false;        // found by cudadiag's probe before the process or context ended
  bool by_wait = false;        // cudadiag's wait for the operation found it, before any call of the program
};

// Why the location of a finding has no line.
struct NoLine {
  std::string why;
  bool lacks_information = false;  // the module was built without line information
  std::string module_unknown;      // why the module cannot be read: "has been removed since the run"
};

// The source text of a finding's lines.
struct SourceText {
  std::vector<symbolize::SourceLine> excerpt;  // the nearest line and its neighbours; empty if the file cannot be read
  // The event after which the source file was written: "the program had started", or "libstep.so had been built". Empty
  // if the file is not newer than the code that ran.
  std::string newer_than;
  std::vector<std::string> changed;  // files written since the run; their text is not shown
};

struct Hang {
  double seconds = 0;                   // without progress
  std::optional<std::size_t> stall;     // its index in Manifest::stalls, if it was found while the program ran
  bool interrupted = false;             // found because a signal asked the program to end
  std::optional<double> ended_after;    // seconds after which the operation finished on its own
  std::optional<session::Work> issues;  // for a call of unknown name: what the call issues
  std::optional<WaitsFor> waits_for;    // set if the operation waits for something else
  std::string wait;                     // the wait in words: "until the word at 0x7f40 equals 1; …"
  bool write_queued = false;            // the write that it waits for is queued on a stream
};

// The results of other tools. Each tool has its own rerun.
struct OtherTools {
  std::optional<Memory> memory;         // from compute-sanitizer
  std::vector<std::string> witnesses;   // one sentence for each finding
  std::vector<WitnessCommand> not_run;  // commands for the tools that were not run
};

// One failure or race. The members are in the order of the questions that a reader asks.
struct Finding {
  bool source_changed() const {
    return std::ranges::find(source.changed, location.nearest().file) != source.changed.end();
  }

  // The failure and its process.
  analyse::Kind kind = analyse::Kind::async_error;
  std::uint32_t code = 0;
  std::string name, runtime_name, title, text;
  std::optional<Launch> launch;
  std::optional<RefusedCall> refused;
  std::optional<Hang> hang;
  std::optional<ResolvedRace> race;  // for Kind::stream_race and Kind::kernel_race
  std::uint32_t pid = 0;
  std::optional<int> rank;
  std::string host;

  // Where.
  Location location;  // the true line
  NoLine no_line;
  SourceText source;
  symbolize::SourceStack stack;
  std::optional<Location> caller;           // Python line that called a native one (also in `related`)
  std::string via;                          // how Python reached native code: "ctypes, libsmooth.so"
  std::optional<Backward> backward;         // set for a kernel of a backward pass
  std::optional<ThreadStart> thread_start;  // set if a library issued the operation on its own thread
  std::optional<Compiled> compiled;
  std::vector<Related> related;
  Noticed noticed;

  // How that is known.
  analyse::Evidence evidence;
  // The possible lines, likeliest first, including the line in `location`; empty if there is only one. `unlisted` is
  // the number of further operations, which are not listed, and `candidates_lost` tells that records of others are
  // lost. If one line has several possible calls, `launch` has no ordinals.
  std::vector<CandidateLine> candidates;
  std::size_t unlisted = 0;
  bool candidates_lost = false;
  std::optional<Device> device;
  std::string device_unknown;     // why `device` is empty
  std::string foreign_exception;  // an exception in a rerun's core dump, in code that the program had not loaded
  OtherTools tools;

  // Why, and what to do.
  std::optional<Access> access;
  std::vector<Argument> arguments;
  std::optional<ValueOrigin> origin;
  std::optional<MemoryUse> memory_use;
  std::string swallowed;  // an earlier failed call of the thread, which may have caused this failure
  std::optional<Cause> cause;
  std::vector<std::string> fix;

  // Saved calls and launches, and the values of watched lines.
  std::optional<Inputs> inputs;
  std::optional<SavedLaunch> saved_launch;
  std::vector<Watched> watched;            // oldest first
  std::uint64_t watched_milliseconds = 0;  // time that reading the watched values took
};

// One rank of a job whose ranks diverged at a collective.
struct RankLine {
  std::uint32_t pid = 0;
  std::optional<int> rank;
  std::uint64_t issued = 0;  // how many collectives the rank issued in the whole run
  bool has_come = false;     // true if the rank has reached this collective
  // The line from which the rank made the call. If the rank has not reached the call: its current line on the host or,
  // if that is unknown, the line of its latest operation.
  Location location;
  bool on_host = false;
  std::string kernel;  // launched at `location`
  std::array<std::uint32_t, 3> grid{};
  std::optional<double> seconds;     // from the call at `location` until the process ended
  std::optional<std::string> ended;  // "status 1", or "" if unknown; nullopt unless it ended before the others
};

struct RanksPart {
  std::uint64_t number = 0;  // number of the collective, from 1
  RanksDifference difference = RanksDifference::none;
  std::vector<RankLine> ranks;
  std::uint64_t first = 1;  // the first collective that was compared; records of earlier ones are lost
  // One rank launched more kernels than the others before an earlier collective, and may have skipped that collective.
  struct Uneven {
    std::uint64_t number = 0;
    std::uint32_t pid = 0;
    std::optional<int> rank;
    std::uint64_t kernels = 0, of_others = 0;
  };
  std::optional<Uneven> uneven{};
};

// One rank of a group whose ranks are blocked at a call.
struct GroupRank {
  std::uint32_t pid = 0;
  std::optional<int> rank;      // rank in the job
  std::int32_t group_rank = 0;  // rank in the group
  bool has_come = false;
  std::string call;   // "all_reduce 481 of 1,024 float32"; empty if it has not made the call, or the record is lost
  Location location;  // line of that call; if the rank has not made it, where the rank is
  std::string does;   // for a rank that has not made the call: "is in cudaMemcpy", "last worked"
};

// A rank that waits for another one.
struct GroupWait {
  std::optional<int> rank, for_rank;
  std::uint32_t pid = 0, for_pid = 0;
  std::string call;  // "send 4 to rank 3 in group pp1"
  Location location;
};

// Why the ranks of a job are blocked, according to NCCL's communicators.
struct GroupsPart {
  analyse::GroupAnswer::Kind kind = analyse::GroupAnswer::Kind::present;
  analyse::GroupAnswer::Difference difference = analyse::GroupAnswer::Difference::none;
  std::string group;  // the name that the program gave it; empty if none
  std::string title;  // "group tp1", "the group of ranks 2 and 3"
  std::uint64_t hash = 0;
  std::int32_t size = 0;     // 0 if unknown
  std::string function;      // "all_reduce", "send"
  std::uint64_t number = 0;  // the call's number among the group's calls of `function`, or among messages to this peer
  std::vector<GroupRank> ranks;
  std::vector<std::int32_t> unseen;  // ranks of the group without a recording
  std::vector<GroupWait> circle;
  std::vector<std::string> dumps{};  // the Flight Recorder dumps that show this; empty if the recording shows it

  // Dumps are matched with each other and with the processes by names and numbers.
  std::optional<analyse::Fact> known_by() const {
    return dumps.empty() ? std::nullopt : std::optional(analyse::Fact::matched);
  }
};

struct ProcessLine {
  std::uint32_t pid = 0, parent = 0;
  std::vector<std::string> argv;
  std::optional<int> rank, code, signal;
};

// Whether a device pass wrote a GPU core dump, and whether cudadiag could read it.
enum class DumpState { none, unfinished, unread, read };

struct PassLine {
  session::PassKind kind = session::PassKind::record;
  std::string outcome;  // text for people
  double seconds = 0;
  std::uint64_t operations = 0, dropped = 0;
  bool isolated = false;  // ran in isolation, so it could not change anything outside
  std::vector<session::KeptFrom> kept_from{};
  bool ended_at_that = false;                       // isolation blocked a change, which may have prevented the failure
  bool leaves_proof_open = false;                   // bisect without isolation may prove what this rerun could not
  std::optional<session::CutShort> cut_short{};     // nullopt if it ran to its end
  std::optional<analyse::Rerun::Outcome> judged{};  // set for a rerun that ran to its end
  DumpState dump = DumpState::none;
  std::string last_printed{};  // if the rerun failed in another way than the first run: the last line that it printed
  bool reached_write_limit = false;  // `ended_at_that`: it wrote more than --write-limit
};

struct Diagnosis {
  analyse::Verdict verdict = analyse::Verdict::no_cuda_failure;
  std::vector<Finding> findings;  // most important first
  std::vector<analyse::Note> notes;
  std::vector<ProcessLine> processes;
  std::vector<PassLine> passes;
  std::optional<RanksPart> ranks;    // for a job that hung in a collective, or failed
  std::optional<GroupsPart> groups;  // as `ranks`, from NCCL's communicators; if set, `ranks` is nullopt
  // Versions, each empty if unknown. `gpus` has one entry per device.
  std::string driver, cuda, cupti, python, torch, triton, cudnn, nccl;
  std::vector<std::string> gpus;
  std::vector<std::string> command;                 // the target's command
  std::vector<std::string> options, rerun_options;  // as in session::Manifest
  std::string session;                              // folder of the session, for the commands that a report suggests
  bool is_one_rank = false;                         // of a job, so a rerun would start it without the other ranks
  bool input_read = false;        // the target read its standard input, so a rerun needs the same input again
  bool may_come_back = false;     // reruns did not fail, but nothing shows that waiting prevented the failure
  bool was_repeated = false;      // at least kRepeats reruns did not fail
  bool asked_for_dump = false;    // the first run requested a GPU core dump (--once)
  std::string started;            // ISO 8601, UTC
  std::string foreign{};          // why the session is not the user's own (session/session_trust.h); empty if it is
  std::string exposed{};          // a folder in which other users can replace the session; empty if there is none
  std::string working_directory;  // the target's working directory; paths in it are shown relative to it
};

// The versions of a report: their names in recordings and for people.
inline constexpr struct {
  const char *key, *name;
  std::string Diagnosis::*text;
} kVersions[] = {{"driver", "driver", &Diagnosis::driver}, {"cuda", "CUDA", &Diagnosis::cuda},
                 {"cupti", "CUPTI", &Diagnosis::cupti},    {"python", "Python", &Diagnosis::python},
                 {"torch", "torch", &Diagnosis::torch},    {"triton", "Triton", &Diagnosis::triton},
                 {"cudnn", "cuDNN", &Diagnosis::cudnn},    {"nccl", "NCCL", &Diagnosis::nccl}};

}  // namespace cudadiag::diagnose
