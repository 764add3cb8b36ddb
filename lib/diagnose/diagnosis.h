// The finding model: everything that any output prints, worded and resolved, once. `diagnose` (known.h) makes it;
// `write_text` and `write_json` only write it and decide nothing. The members follow the contract "cudadiag.report/1"
// (report.schema.json); optional ones are null or empty there, never absent.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/argument.h"
#include "diagnose/facts/hang.h"
#include "diagnose/facts/location.h"
#include "diagnose/facts/origin.h"
#include "diagnose/facts/relation.h"
#include "sass/failing_address.h"
#include "session/notes/replay_tally.h"
#include "session/session.h"
#include "symbolize/source_excerpt.h"
#include "symbolize/source_frame.h"

namespace cudadiag::diagnose {

// The relation of another line to the finding.
enum class Role {
  forward,   // of a backward kernel: where its node was made
  backward,  // and where backward() was called
  started,   // the thread that issued it
  eager,     // failed in a rerun without torch.compile
  source,    // of a compiled kernel, by the names in the generated code
  caller,    // of the native line, in Python
  capture,   // of the graph or of its node; of a broken capture, where it was begun
  update,    // gave the graph's node other parameters
  replay,    // launched the graph
  allocated,
  freed,
  swallowed,  // an earlier failure of the same thread
  fork,       // made this process
  used,       // used a value that is not finite
  infinite,   // made the infinite element that became NaN
};

struct Related {
  Role role = Role::caller;
  Location location;
  std::optional<analyse::Grade> grade{};  // of a forward and an eager line: how it is known
};

struct NodeNumber {
  std::uint32_t index = 0, of = 0;  // from 1
  std::uint32_t nodes = 1;          // number of nodes of the line that are possible; `index` is the first one's
};

struct Launch {
  session::Work operation = session::Work::call;
  std::string kernel, mangled;
  std::array<std::uint32_t, 3> grid{}, block{};  // all 0: not known
  std::uint32_t shared_bytes = 0;
  std::uint64_t stream = 0;
  std::optional<std::uint32_t> device;
  std::optional<std::uint64_t> process_ordinal, stream_ordinal, site_ordinal;
  bool shares_line = false;  // other call sites lie on its line: site_ordinal counts not all calls of the line
  std::uint32_t thread = 0;
  bool by_hooks = false;                        // it was seen by hooks, not by CUPTI
  std::optional<NodeNumber> graph_node;         // operation and kernel are this node's; the rest is the graph's launch
  std::optional<std::uint32_t> replay;          // launches of a graph and its nodes: which one of the executable graph
  std::optional<std::uint64_t> kernel_ordinal;  // among the kernels of the process, where all of them are known

  bool shape_known() const { return grid != std::array<std::uint32_t, 3>{} || block != grid; }
  bool has_shape_of(const Launch& other) const {
    return grid == other.grid && block == other.block && shared_bytes == other.shared_bytes;
  }
  void forget_shape() {
    grid = block = {};
    shared_bytes = 0;
  }
};

// Evidence from the GPU itself in a rerun of the failure: its core dump, or an assertion that it printed.
struct Device {
  std::string exception, function, file, message;             // a failed assertion's message is its condition
  int line = 0;                                               // 0: not known
  std::uint64_t offset = 0;                                   // in function, for code without lines
  std::vector<Location> inlined;                              // into the line, from CUDA's own headers, innermost first
  std::vector<Location> callers;                              // through which the line was inlined, innermost first
  std::optional<std::array<std::uint32_t, 3>> block, thread;  // the first that failed; not known once it has exited
  std::optional<std::uint64_t> threads, blocks;               // how many failed
  bool asserted = false;
  bool of_first_run = false;   // the core dump is the first run's own
  std::size_t assertions = 0;  // different ones that were printed; 0: the message is none's
  std::string join;            // how it fits the launch: "same kernel, grid and block"
  bool line_by_sanitizer = false, threads_by_sanitizer = false;  // compute-sanitizer's word, not the dump's
};

// An access that compute-sanitizer found invalid, in a rerun of its own.
struct Memory {
  std::string space, mode, problem;  // "global", "write", "out of bounds"
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> address;
  std::optional<std::uint64_t> allocation, allocation_bytes;  // the nearest
  std::string text;                                           // all of that, for people
  std::string function, file;
  int line = 0;
  std::array<std::uint32_t, 3> block{}, thread{};
  std::size_t accesses = 0;  // that were printed of this kernel
};

// The access that failed, from the GPU core dump of a rerun; how it lies to memory, from the recording of a launch of
// the same kernel: the two are different runs, whose addresses differ, and so it is counted from the parameter.
struct Access {
  sass::AccessKind kind = sass::AccessKind::load;
  sass::Space space = sass::Space::global;
  std::uint32_t bytes = 0;                    // 0: not known
  std::optional<std::uint64_t> address{};     // of the first thread that went wrong, in the dump's process
  std::optional<std::uint32_t> parameter{};   // from 1, that the address is made of
  std::uint32_t parameter_byte = 0;           // of the pointer in it
  std::string parameter_name{};               // empty: not known
  std::optional<PointedMemory> allocation{};  // that the parameter pointed to
  Relation relation = Relation::unknown;
  std::optional<std::uint64_t> distance{};  // past its end, before its beginning, or beyond a multiple of `bytes`
  std::optional<std::uint64_t> farthest{};  // of the threads of that relation
  std::optional<std::array<std::uint32_t, 3>> block{}, thread{};  // the first of them
  std::uint64_t threads = 0;                                      // of that relation; 0: not known
  std::uint64_t others = 0;  // of the same warps, whose addresses are right or not known
  bool overflow = false;     // 2^32 elements less or more would lie inside
};

// The values at a line that the user watches.
struct Watched {
  Location location;
  std::uint64_t visit = 0;
  std::uint32_t thread = 0;
  std::vector<Argument> arguments;
};

// The failing call as a rerun saved it.
struct Inputs {
  std::string folder, op;
  std::uint64_t bytes = 0;
  std::size_t tensors = 0;
  std::vector<std::string> missing;  // what could not be saved exactly
  std::string outcome;               // of its script: "reproduces", "does not reproduce", "could not be run", "not run"
};

// The failing launch, saved, and made again alone.
struct SavedLaunch {
  std::string folder;
  session::ReplayTally tally;
};

struct MemoryHolder {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  Location location;
  std::string owner;  // as Allocation's
};

struct OtherProcess {
  std::uint32_t pid = 0;
  std::string name;
  std::uint64_t bytes = 0;
};

// The answer of PyTorch's allocator when it ran out of memory, in a rerun.
struct TensorMemory {
  std::uint64_t reserved = 0, allocated = 0, largest_free = 0;
  std::vector<MemoryHolder> holders;  // by line of the user's, largest first
  // An exception whose traceback kept tensors alive: its type, and where it was raised.
  struct Exception {
    std::string type;
    Location location;
    std::uint64_t bytes = 0;
  };
  std::vector<Exception> exceptions;
  std::size_t times = 1;  // that it found none, the last one included
};

// For a call that ran out of memory: what held it at that moment.
struct MemoryUse {
  bool of_host = false;                      // pinned memory was wanted
  std::uint64_t asked = 0;                   // 0: not known
  std::optional<std::uint64_t> free, total;  // of the device
  std::uint64_t held = 0, peak = 0;          // by this process
  bool whole = true;                         // no allocation of it was lost
  std::vector<MemoryHolder> holders;         // by line, largest first
  std::vector<OtherProcess> others;          // on the same device, when this process had ended
  std::optional<TensorMemory> tensors;
};

// A tensor's part in the operator. Variable: no operator is known.
enum class TensorRole { argument, result, variable };

// The memory of an access, as a rerun's Python code reported it: a tensor of PyTorch's, or another library's array.
struct RaceTensor {
  std::string name;   // the user's variable; empty: none that its line names
  bool view = false;  // it is a view of that variable
  TensorRole role = TensorRole::argument;
  std::string argument;         // of the operator's schema; of results their name there
  std::optional<bool> written;  // as the schema says; nothing: it cannot be relied on
  std::string dtype, device;
  std::vector<std::int64_t> shape, strides;
  std::uint64_t begin = 0, end = 0;  // in the first run
};

// One of the two that race.
struct ResolvedAccess {
  session::Work operation = session::Work::call;  // kernel, copy, memset, allocation or free
  std::string kernel, mangled;                    // of kernels
  session::RaceMode mode = session::RaceMode::unknown;
  std::uint64_t stream = 0;
  bool on_host = false;  // the program's own code on the CPU: no stream's
  std::uint64_t begin = 0, end = 0;
  bool exact = false;      // false: a kernel was given `begin`; how far it goes is not known
  std::string op, schema;  // "aten::add_.Tensor"; empty: not known
  std::optional<RaceTensor> tensor;
  bool judged_by_schema = false;  // `mode` is; else of copies the call says it, of kernels their code
  std::uint32_t graph_node = 0;   // from 1; 0: none
  Location location;
  symbolize::SourceStack stack;
};

// The bytes that both use, of the first to the last one.
struct RaceOverlap {
  std::uint64_t begin = 0, end = 0;  // in the first run
  std::uint64_t bytes = 0;           // in common; fewer than the range has where it has gaps
};

// Two operations on streams that nothing orders. The later one is the finding's own line.
struct ResolvedRace {
  std::vector<ResolvedAccess> accesses;  // two, in the order of issue
  std::string missing;                   // the edge between them, in words
  std::string rerun;                     // that one did not show it again; empty: it did, or there was none
  bool possible = false;                 // not certain; the finding's `because` says why
  std::uint64_t times = 1;
  std::optional<PointedMemory> allocation;
  std::optional<RaceOverlap> overlap;  // of the two tensors; nothing: not known
};

// Why it failed, as a rule knows it from this finding's facts.
struct Cause {
  std::string id;    // "index-out-of-range"
  std::string text;  // a sentence or two with the values filled in
  std::vector<std::pair<std::string, std::string>> facts;
  std::string link;                // documentation
  bool certain = false;            // false: "often" or "probably"
  std::vector<std::size_t> proof;  // indices in Finding::arguments
};

// For a kernel that PyTorch's autograd launched. Its lines are in `related`: where the node was made ("forward") and
// where backward() was called ("backward"), if they are known.
struct Backward {
  std::string node;     // "GatherBackward0"; empty: it adds up gradients, or nothing is known
  std::string because;  // why the forward line is not known
  bool leads = false;   // the forward line is the true line: nothing of the user's ran in the backward pass
};

// For an operation whose thread runs no line of the user's: the finding's location is the line that started the thread
// (also in `related`, as "started"), and not one of `stack`.
struct ThreadStart {
  Location issued;                            // the library's line that issued the operation
  bool pool = false;                          // the line gave the work to a pool of threads
  std::vector<symbolize::PythonFrame> stack;  // up to the line and beyond, where it was started; innermost first
};

// Candidates with one true line are one: `launch` is the likeliest of `launches`.
struct CandidateLine {
  Location location;
  Launch launch;
  std::string because;
  std::size_t launches = 1;
  std::vector<std::string> kernels{};  // mangled kernel names, if the line's nodes have several; else empty
};

// A command to paste, quoted for a shell.
struct WitnessCommand {
  std::string text;
  bool runs_target = false;  // the command of the report follows
};

struct Finding {
  bool source_changed() const {
    const auto& files = changed_sources;
    return std::find(files.begin(), files.end(), location.nearest().file) != files.end();
  }

  analyse::Kind kind = analyse::Kind::async_error;
  std::uint32_t code = 0;
  std::string name, runtime_name, title, text;
  Location location;                           // the true line
  std::vector<symbolize::SourceLine> excerpt;  // the nearest line and its neighbours; empty: the file cannot be read
  std::string why_no_line;                     // where the location has none
  bool lacks_line_information = false;         // that is why: the module was built without
  std::string module_unknown;     // why its module, where there is no line, is not known: "is no longer there"
  std::string source_newer_than;  // "the program had started", if the file was written after that, and before the
                                  // failure; "libstep.so had been built"; else empty
  std::vector<std::string> changed_sources;  // files of its lines that were written since: their text is left out
  std::optional<Location> caller;            // Python line that called a native one (also in `related`)
  std::optional<Backward> backward;          // a kernel of a backward pass
  std::optional<ThreadStart> thread_start;   // a library issued it on a thread of its own
  std::string via;                           // how it got there: "ctypes, libsmooth.so"
  std::optional<Location> reported_at;       // where the program noticed; nothing if it never asked
  std::string reported_api;                  // "cudaMemcpy"
  std::string reported_library;              // "libcublas.so.13": it made that call, and returns a status of its own
  bool found_at_exit = false;        // by our probe before the end of process or context, not by a call of the program
  bool found_by_wait = false;        // by our wait for the operation, before any call of the program
  std::optional<double> standstill;  // of a hang: seconds without any progress
  // The number of a hang that was found while the program ran, in Manifest::stalls.
  std::optional<std::size_t> stall;
  std::optional<double> ended_after;    // and seconds after which the operation ended by itself
  std::optional<session::Work> issues;  // for a hang: the kind of work, if the call's name is not known
  std::optional<WaitsFor> waits_for;    // of a hang: if the operation waits for something else
  std::string wait;                     // and that in words: "until the word at 0x7f40 equals 1; …"
  bool write_queued = false;            // likewise
  std::vector<Related> related;
  std::optional<Launch> launch;
  symbolize::SourceStack stack;
  std::optional<Device> device;
  std::string device_unknown;     // why there is none
  std::string foreign_exception;  // of a rerun's core dump, in code that the program had not loaded
  std::optional<Access> access;
  std::optional<Memory> memory;
  std::vector<std::string> witnesses;          // findings of other programs, a sentence each
  std::vector<WitnessCommand> witness_wanted;  // that ask those which were not asked
  // Likeliest first, `location` and `launch` itself included; empty if it is one. `unlisted`: others, beyond the most
  // that are listed. For several calls of one line, `launch` has no ordinals.
  std::vector<CandidateLine> candidates;
  std::size_t unlisted = 0;
  std::vector<Argument> arguments;
  std::optional<Origin> origin;
  std::optional<Inputs> inputs;
  std::optional<SavedLaunch> saved_launch;
  std::vector<Watched> watched;            // the latest last
  std::uint64_t watched_milliseconds = 0;  // what reading them had taken
  std::optional<MemoryUse> memory_use;
  std::optional<ResolvedRace> race;  // of Kind::stream_race
  std::optional<Cause> cause;
  std::vector<std::string> fix;
  analyse::Grade grade = analyse::Grade::suspected;
  analyse::Reasons because;
  std::uint32_t pid = 0;
  std::optional<int> rank;
  std::string host;
};

// One rank of a job at the collective at which they diverge.
struct RankLine {
  std::uint32_t pid = 0;
  std::optional<int> rank;
  std::uint64_t issued = 0;  // collectives, in the whole run
  bool has_come = false;     // to this one
  // The line of its call; if it has not reached it, where it is on the host, or else of its latest operation.
  Location location;
  bool on_host = false;
  std::string kernel;  // that it launched there
  std::array<std::uint32_t, 3> grid{};
  std::optional<double> seconds;     // from then to its end
  std::optional<std::string> ended;  // before the others: "status 1"; empty: not known
};

struct RanksPart {
  std::uint64_t number = 0;  // of the collective, from 1
  RanksDifference difference = RanksDifference::none;
  std::vector<RankLine> ranks;
  std::uint64_t first = 1;  // of the collectives that were compared, as they were still recorded
  // One of them launched more kernels than the others before an earlier collective, and may have left one out there.
  struct Uneven {
    std::uint64_t number = 0;
    std::uint32_t pid = 0;
    std::optional<int> rank;
    std::uint64_t kernels = 0, of_others = 0;
  };
  std::optional<Uneven> uneven{};
};

// One rank of a job at the call of its group that the job waits for.
struct GroupRank {
  std::uint32_t pid = 0;
  std::optional<int> rank;      // in the job
  std::int32_t group_rank = 0;  // in the group
  bool has_come = false;
  std::string call;   // "all_reduce 481 of 1,024 float32"; empty: it has not come, or the record of it is lost
  Location location;  // of that call, or of where it is instead
  std::string does;   // of one that has not come, what it does instead: "is in cudaMemcpy", "last worked"
};

// A rank that waits for another one.
struct GroupWait {
  std::optional<int> rank, for_rank;
  std::uint32_t pid = 0, for_pid = 0;
  std::string call;  // "send 4 to rank 3 in group pp1"
  Location location;
};

// Why the ranks of a job stand still, by the communicators of NCCL.
struct GroupsPart {
  analyse::GroupAnswer::Kind kind = analyse::GroupAnswer::Kind::present;
  analyse::GroupAnswer::Difference difference = analyse::GroupAnswer::Difference::none;
  std::string group;  // the name that the program gave it; empty: none
  std::string title;  // "group tp1", "the group of ranks 2 and 3"
  std::uint64_t hash = 0;
  std::int32_t size = 0;     // 0: not known
  std::string function;      // "all_reduce", "send"
  std::uint64_t number = 0;  // of the call among those of its function in the group, or of messages to this peer
  std::vector<GroupRank> ranks;
  std::vector<std::int32_t> unseen;  // ranks of the group that are not recorded
  std::vector<GroupWait> circle;
};

struct ProcessLine {
  std::uint32_t pid = 0, parent = 0;
  std::vector<std::string> argv;
  std::optional<int> rank, code, signal;
};

// The GPU core dump of a device pass.
enum class DumpState { none, unfinished, unread, read };

struct PassLine {
  session::PassKind kind = session::PassKind::record;
  std::string outcome;  // for people
  double seconds = 0;
  std::uint64_t operations = 0, dropped = 0;
  bool isolated = false;  // it could change nothing
  std::vector<session::KeptFrom> kept_from{};
  bool ended_at_that = false;                       // it did not fail, for which that may be the reason
  std::optional<session::CutShort> cut_short{};     // nothing: it was not ended early
  std::optional<analyse::Rerun::Outcome> judged{};  // of a rerun that was not ended early
  DumpState dump = DumpState::none;
};

struct Diagnosis {
  analyse::Verdict verdict = analyse::Verdict::no_cuda_failure;
  std::vector<Finding> findings;  // most important first
  std::vector<analyse::Note> notes;
  std::vector<ProcessLine> processes;
  std::vector<PassLine> passes;
  std::optional<RanksPart> ranks;    // of a job that hung in a collective, or ended badly
  std::optional<GroupsPart> groups;  // the same by NCCL's communicators, if they are known; `ranks` is empty then
  // "driver", "cuda", "cupti", "python", "torch", …: empty if not known. `gpus` one entry per device.
  std::string driver, cuda, cupti, python, torch, triton, cudnn, nccl;
  std::vector<std::string> gpus;
  std::vector<std::string> command;  // the target's
  std::string session;               // folder, for the next commands
  bool input_read = false;           // by the target: a rerun needs its standard input again
  bool may_come_back = false;        // reruns did not fail, and none shows that waiting is why
  std::string started;               // ISO 8601, UTC
  std::string foreign{};             // why the session is not the reader's own (session/ownership.h); empty: it is
  std::string working_directory;     // of the target: paths inside it are shown relative to it
};

// Leaves only these findings, those of the first one's process first.
void keep_findings(Diagnosis& report, const std::function<bool(const Finding&)>& wanted);

}  // namespace cudadiag::diagnose
