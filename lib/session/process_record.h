// The contents of one process's area, decoded and checked: plain data, no pointers to wire memory.
//
// The reader treats every byte as hostile: it drops a count, offset or id that does not fit, and counts it in
// `damaged`. Id i is the element i-1 of its table. An id without an element becomes 0 ("none").
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/area.h"
#include "wire/collective.h"
#include "wire/error.h"
#include "wire/intern.h"
#include "wire/operation.h"
#include "wire/tables.h"

namespace cudadiag::session {

// The kinds of work that a call queues on a stream.
enum class Work : std::uint8_t {
  call,  // a call that queues none of the following
  kernel,
  graph,
  copy,
  memset,
  wait,
  write,
  event,
  host_function,
  allocation,
  free,
};

std::string_view word(Work work);
std::optional<Work> work_of(std::string_view word);

using Dim3 = std::array<std::uint32_t, 3>;

struct Module {
  std::string path;
  std::string build_id;  // lower-case hex, empty if the module has none
  std::uint64_t bias = 0, begin = 0, end = 0;
};

struct Code {
  std::string file, qualified_name;
  std::uint32_t first_line = 0;
  std::uint32_t python_minor = 0;  // 11 for CPython 3.11; determines the format of `line_table`
  std::string line_table;          // raw bytes of co_linetable
};

struct RawPythonFrame {
  std::uint32_t code = 0;    // id in ProcessRecord::codes
  std::uint32_t offset = 0;  // byte offset of the current instruction
};

struct RawNativeFrame {
  std::uint32_t module = 0;   // id in ProcessRecord::modules; 0 if `address` is absolute
  std::uint64_t address = 0;  // return address, relative to the module's load bias
};

template <typename Frame>
struct RawStack {
  std::vector<Frame> frames;  // innermost first
  bool truncated = false;
};

struct Site {
  std::uint32_t python = 0, native = 0, function = 0;  // ids of two stacks and a function; 0 if none
  wire::operation::Kind kind = wire::operation::Kind::none;
  std::uint16_t thread = 0;
  std::uint64_t operations = 0;  // number of operations issued here in the whole run
};

struct GraphNode {
  std::uint32_t site = 0;      // where it was captured or added
  std::uint32_t function = 0;  // for kernels: id in ProcessRecord::functions
  Dim3 grid{}, block{};        // for kernels
  std::uint32_t shared_bytes = 0;
  std::uint8_t type = 0;     // CUgraphNodeType
  std::uint32_t parent = 0;  // 1 + index of the node whose child graph contains it; 0 if none
};

struct GraphChange {
  std::uint32_t node = 0, site = 0;  // the node's index, and the site of the call that set its current parameters
};

struct GraphEdge {
  std::uint32_t from = 0, to = 0;  // indices of nodes
};

// An executable graph. The nodes of a child graph follow the node that contains it.
struct Graph {
  std::uint32_t site = 0;  // where it was instantiated or updated
  bool whole = false;      // no nodes, edges or changes are missing
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  // 0 for an original graph. For a graph whose nodes were given new parameters, the id of the original graph, which has
  // the nodes and edges.
  std::uint32_t changed_from = 0;
  std::vector<GraphChange> changes;  // sorted by node, at most one per node
};

// Memory that the driver allocated (wire/tables.h).
struct Allocation {
  std::uint64_t serial = 0, address = 0, bytes = 0;
  std::uint64_t made = 0, freed = 0;  // ticks; `freed` is 0 while the allocation is live
  std::uint32_t site = 0, freed_site = 0;
  wire::allocation::Kind kind = wire::allocation::Kind::none;
  std::uint8_t flags = 0;  // wire::allocation::Flag
  std::uint16_t thread = 0;
  std::uint32_t context = wire::allocation::kNone;
  std::uint32_t stream = wire::allocation::kNone, freed_stream = wire::allocation::kNone;
};

struct Parameter {
  std::uint32_t offset = 0;  // byte offset among the kernel's parameters
  std::string bytes;
};

// The parameters of one kernel launch. The area keeps them for each thread's latest launches, and for a launch that
// failed while a rerun waited for it. For a node of a graph, the thread is wire::intern::kOfNode. For a copy from host
// memory that may have filled a table of addresses, the only parameter is what it copied, or the beginning of it.
struct Arguments {
  std::uint64_t serial = 0;  // serial of the operation in its thread
  std::uint32_t thread = 0;
  std::uint32_t flags = 0;  // wire::intern::ArgumentFlag
  std::vector<Parameter> parameters;
};

// A graph launch in which a node pointed to freed memory (wire/intern.h).
struct StalePointer {
  std::uint64_t serial = 0;  // serial of the launch in its thread
  std::uint32_t thread = 0;
  std::uint32_t node = 0, offset = 0;
  std::uint64_t address = 0, allocation = 0;  // `allocation` is the serial of the freed allocation
  bool in_structure = false;  // the pointer is a word of a larger parameter, and may be left over from another call
};

// The state of PyTorch's autograd at a launch (wire/operation.h).
struct AutogradState {
  std::uint32_t number = 0;       // number of nodes that the launching thread had created
  std::uint16_t thread = 0;       // PyTorch's number for that thread; 0 without PyTorch
  std::uint16_t node_thread = 0;  // the thread that created the node whose backward function was running; 0 if none
  std::uint32_t node = 0;         // number of that node
  std::uint16_t graph_task = 0;   // the backward() call that was running it
  std::uint16_t node_type = 0;    // id in ProcessRecord::node_types
};

struct Operation {
  wire::operation::Kind kind = wire::operation::Kind::none;
  std::uint8_t flags = 0;  // wire::operation::Flag
  std::uint16_t thread = 0;
  std::uint64_t serial = 0;
  std::uint32_t site = 0;
  std::uint32_t stream = wire::operation::kNoStream;
  std::uint32_t ordinal = 0;
  std::uint32_t result = 0;
  std::uint32_t site_ordinal = 0;
  std::uint64_t ticks = 0;
  std::uint64_t argument = 0;     // for copies, memsets and prefetches: the number of bytes; unused for kernels
  std::uint64_t value = 0;        // for memory operations
  std::uint64_t began = 0;        // for event syncs: ticks before the call; 0 if unknown
  std::uint64_t returned_at = 0;  // for event records and waits: ticks after the call; 0 if unknown
  wire::operation::MemoryOperation memory_operation = wire::operation::MemoryOperation::unknown;
  std::uint64_t destination = 0, source = 0;  // addresses of copies, memsets and prefetches; 0 if unknown
  std::uint32_t graph = 0;                    // for graph launches: id of the original graph
  std::uint32_t graph_changed = 0;  // for graph launches: id of the changed graph at that launch; 0 if unchanged
  std::uint32_t replay = 0;         // for graph launches: number of this launch among those of the graph; 0 if unknown
  std::uint32_t graph_flags = 0;
  std::uint32_t graph_words = 0;  // 1 + the index of the first node's word in ProcessRecord::graph_words; 0 if none
  Dim3 grid{}, block{}, cluster{};
  std::uint32_t shared_bytes = 0;
  AutogradState origin;
  // The full log provides these fields (session/full_log_join.cc). Without a log, they are 0 and false. An unknown
  // value is 0 too.
  bool logged = false;         // the operation comes from the log, so its neighbours may be missing here
  std::uint32_t recorded = 0;  // for event waits and syncs: 1 + index in `operations` of the event's record
  std::uint64_t issued = 0;    // number of operations that the process had issued up to this one
  std::uint64_t kernels = 0;   // for kernels: number of kernels launched up to this one; 0 if a graph had been launched
};

// Facts about a process's full log.
struct FullLog {
  std::uint64_t operations = 0;  // number of operations in the log
  std::uint64_t lost = 0;        // number of operations that were overwritten before they could be read
  bool reaches_rings = false;    // no operation is missing between the log and the rings
  bool whole() const { return lost == 0 && reaches_rings; }
};

struct Thread {
  wire::thread::State state = wire::thread::State::free;
  std::uint32_t tid = 0;
  std::string name;
  std::uint64_t published = 0;
  std::uint64_t operations = 0;  // number of operations with an ordinal, in the whole run
  wire::error::Domain call_domain = wire::error::Domain::none;
  std::uint32_t call_id = 0;
  std::uint64_t call_ticks = 0;
  std::uint64_t python_state = 0;  // address of its PyThreadState in the process; 0 if unknown

  // A call that may block. `site` is 0 if the thread is not in such a call.
  struct Blocked {
    std::uint32_t site = 0;
    wire::thread::Wait wait = wire::thread::Wait::none;
    std::uint32_t stream = wire::operation::kNoStream;
    std::uint32_t context = 0xffffffff;
    std::uint64_t event = 0;
    std::string call, outer;  // "cuStreamSynchronize", "cudaStreamSynchronize"; outer is empty if called directly
  } blocked;
};

struct Context {
  wire::context::State state = wire::context::State::free;
  std::uint32_t uid = 0;
  std::uint64_t handle = 0;
  std::uint32_t device = 0;
  wire::context::Markers markers = wire::context::Markers::off;
  std::uint64_t peers = 0;  // wire::context::kPeers
};

struct Stream {
  wire::stream::State state = wire::stream::State::free;
  std::uint32_t context = 0;
  std::uint64_t handle = 0, stream_id = 0;
  std::uint64_t created = 0;  // ticks
  std::uint32_t flags = 0;    // wire::stream::Flag
  std::uint32_t thread_tid = 0;
  std::uint32_t issued = 0;
  std::uint32_t marker_issued = 0;
  std::uint32_t marker = 0;          // value written by the GPU, as of the freeze or, without a freeze, of the read
  std::uint32_t host_completed = 0;  // ordinal up to which the host saw everything finish, as of the same time
  // The sorted ordinals, up to `issued`, of operations that had not reached the driver and so were not queued.
  std::vector<std::uint32_t> not_given;

  // Returns the ordinal up to which all operations are known to have finished.
  std::uint32_t completed() const { return marker > host_completed ? marker : host_completed; }
  // Returns the number of queued operations with ordinals after `after`, up to `last`.
  std::uint32_t given_between(std::uint32_t after, std::uint32_t last) const {
    if (last <= after) return 0;
    const auto begin = std::ranges::upper_bound(not_given, after);
    return last - after - static_cast<std::uint32_t>(std::upper_bound(begin, not_given.end(), last) - begin);
  }
};

// The stream capture that a failed call refers to (wire/error.h).
struct Capture {
  std::uint64_t began = 0;  // ticks; 0 if no capture is known
  std::uint32_t tid = 0;
  std::uint32_t mode = 0;  // CUstreamCaptureMode
  std::uint32_t site = 0;  // where the capture began
};

struct FailedCall {
  std::uint64_t serial = 0, ticks = 0;
  std::uint32_t code = 0;
  std::uint32_t tid = 0;
  std::uint32_t thread = 0xffffffff;
  wire::error::Domain domain = wire::error::Domain::none;
  std::uint8_t flags = 0;  // wire::error::Flag
  std::uint16_t call_id = 0;
  std::string call, outer;  // "cuMemAlloc", "cudaMalloc"; outer is empty if called directly
  std::uint32_t outer_code = 0;
  std::uint32_t site = 0;
  std::uint32_t stream = wire::operation::kNoStream;
  std::uint32_t context = 0xffffffff;
  Dim3 grid{}, block{};
  std::uint32_t shared_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t device_free = 0, device_total = 0;  // when an allocation failed; both 0 if not queried
  std::uint64_t most_threads = 0, most_shared = 0;  // the limits of a kernel whose launch failed; 0 if unknown
  std::uint64_t pointer = 0;                        // that a refused call should have freed; otherwise 0
  std::uint64_t operation = 0;
  std::uint64_t started = 0;  // ticks; 0 if unknown
  Capture capture;
  std::string explanation;    // the driver's own message; empty if it gave none
  std::uint64_t of_call = 0;  // wire::error::kOfCall
};

// One of NCCL's communicators (wire/collective.h).
struct Communicator {
  std::uint64_t hash = 0;  // the same in all ranks
  std::string name;        // given by the program; empty if it gave none
  std::int32_t rank = 0;   // rank of this process in the communicator
  std::int32_t ranks = 0;  // 0 if unknown
  std::int32_t version = 0;
  std::uint64_t made = 0;                       // ticks
  std::uint64_t collectives = 0, captured = 0;  // calls in the whole run; `collectives` excludes captured ones
  std::map<std::uint32_t, std::uint64_t> sends, receives;  // calls in the whole run, by peer
  bool finalized = false;
};

// One of the process's latest calls on NCCL's communicators.
struct Collective {
  std::uint64_t number = 0;  // from 1, among all calls of the process
  std::uint64_t ticks = 0;
  std::uint64_t count = 0;         // number of elements
  std::uint64_t stream = 0;        // CUstream, if kBeforeLaunch is set
  std::uint32_t communicator = 0;  // index in ProcessRecord::communicators
  std::uint32_t ordinal = 0;  // from 1, among the communicator's collectives, sends to this peer, or receives from it
  std::uint32_t of_function = 0;  // from 1, among the communicator's collectives of this function; 0 if unknown
  std::int32_t peer = 0;          // peer of a send or receive, root of a collective; -1 if none
  std::uint32_t site = 0;
  wire::collective::Function function = wire::collective::Function::other;
  wire::collective::Type type = wire::collective::Type::other;
  std::uint8_t flags = 0;  // wire::collective::Flag
  std::uint16_t thread = 0;
};

struct Note {
  std::string code, text;
};

struct ProcessRecord {
  wire::area::State state = wire::area::State::empty;
  std::uint32_t pid = 0, parent_pid = 0;
  std::uint64_t start_realtime = 0;  // ns since the epoch

  std::vector<Thread> threads;        // by index; unused entries stay in place
  std::vector<Context> contexts;      // by index; unused entries stay in place
  std::vector<Stream> streams;        // by index; unused entries stay in place
  std::vector<Operation> operations;  // from rings, `held` and the full log, without duplicates, sorted by ticks
  std::optional<FullLog> log;
  std::vector<FailedCall> errors;  // sorted by serial

  std::uint32_t frozen_error = 0;  // 1 + index in `errors`; 0 if there was no freeze, or its record is lost
  std::uint32_t frozen_code = 0;
  std::uint64_t frozen_ticks = 0;

  std::vector<std::string> functions;   // mangled kernel names
  std::vector<std::string> node_types;  // mangled C++ types
  std::vector<Module> modules;
  std::vector<Code> codes;
  std::vector<RawStack<RawPythonFrame>> python_stacks;
  std::vector<RawStack<RawNativeFrame>> native_stacks;
  std::vector<Site> sites;
  std::vector<Graph> graphs;
  std::vector<std::uint32_t> graph_words;  // 0 for a node that has not finished; empty if no operation refers to them
  std::vector<Allocation> allocations;     // sorted by serial
  std::vector<Arguments> arguments;
  std::vector<StalePointer> stale_pointers;
  std::vector<Communicator> communicators;  // in the order of creation; empty if NCCL reported none
  std::vector<Collective> collectives;      // the latest calls on communicators, sorted by number
  std::vector<Note> notes;
  std::map<std::string, std::string> properties;  // "argv", "cwd", "driver", "cupti", "python", "device.0.name", …

  std::uint64_t operations_issued = 0;  // in the whole run; sum of the threads' counts
  std::uint64_t dropped_operations = 0, dropped_sites = 0, dropped_interns = 0, dropped_streams = 0;
  std::uint64_t dropped_graphs = 0;
  std::uint64_t dropped_allocations = 0, forgotten_allocations = 0;
  std::uint64_t collectives_called = 0, dropped_communicators = 0, dropped_peers = 0;
  std::uint64_t dropped_held = 0, failed_markers = 0, error_count = 0;
  std::uint64_t waits = 0;         // number of operations that a rerun waited for
  std::optional<int> exit_status;  // passed to exit(); nullopt if the process never called exit()
  std::uint64_t damaged = 0;       // number of invalid parts of the area, which were ignored

  std::uint64_t earlier_removed = 0;  // wire::area::kEarlierRemoved

  std::uint64_t events_unseen = 0;  // wire::area::kEventsUnseen
  bool sees_events_at(std::uint64_t ticks) const { return events_unseen == 0 || ticks < events_unseen; }

  // Returns the seconds since the first clock reading; 0 if the clock cannot be calibrated.
  double seconds(std::uint64_t ticks) const { return static_cast<double>(ticks - clock_start) * seconds_per_tick; }
  // Returns the seconds since the epoch, comparable between processes of one host.
  double unix_seconds(std::uint64_t ticks) const { return static_cast<double>(start_realtime) * 1e-9 + seconds(ticks); }
  std::uint64_t clock_start = 0;
  std::uint64_t clock_last = 0;  // ticks when the process was last known to be alive; 0 if unknown
  double seconds_per_tick = 0;
};

// Looks up a site, function or other element by its id. Returns null for id 0 and for an id that is out of range.
template <typename T>
const T* by_id(const std::vector<T>& table, std::uint32_t id) {
  return id == 0 || id > table.size() ? nullptr : &table[id - 1];
}

// Returns the mangled name of the kernel that the site launches; null if it is unknown.
inline const std::string* kernel_at(const ProcessRecord& record, std::uint32_t site) {
  const Site* known = by_id(record.sites, site);
  return known == nullptr ? nullptr : by_id(record.functions, known->function);
}

// Returns the number of the context's device; nullopt if the context is unknown.
inline std::optional<std::uint32_t> device_of(const ProcessRecord& record, std::uint32_t context) {
  return context < record.contexts.size() ? std::optional(record.contexts[context].device) : std::nullopt;
}

// Returns the site of the call that changed the node's parameters before this launch; 0 if there was no such call, or
// its site is unknown.
inline std::uint32_t changed_at(const ProcessRecord& record, const Operation& launch, std::uint32_t node) {
  const Graph* changed = by_id(record.graphs, launch.graph_changed);
  if (changed == nullptr) return 0;
  const auto at =
      std::lower_bound(changed->changes.begin(), changed->changes.end(), node,
                       [](const GraphChange& change, std::uint32_t wanted) { return change.node < wanted; });
  return at != changed->changes.end() && at->node == node ? at->site : 0;
}

// Returns the site of the call that set the node's parameters for this launch; 0 if unknown. This is the call that last
// changed the node or, if it was never changed, the call that created it.
inline std::uint32_t site_at(const ProcessRecord& record, const Operation& launch, const Graph& graph,
                             std::uint32_t node) {
  const std::uint32_t changed = changed_at(record, launch, node);
  return changed != 0 ? changed : graph.nodes[node].site;
}

// Returns the id of the node's kernel. If the node has none, returns the kernel of the call site that created the node;
// 0 if unknown.
inline std::uint32_t kernel_id(const ProcessRecord& record, const GraphNode& node) {
  if (node.function != 0) return node.function;
  const Site* made = by_id(record.sites, node.site);
  return made == nullptr ? 0 : made->function;
}

// Returns whether a launch of the graph may record events; true if parts of the graph are unknown.
inline bool may_record_events(const ProcessRecord& record, std::uint32_t graph) {
  const Graph* known = by_id(record.graphs, graph);
  if (known != nullptr && known->changed_from != 0) known = by_id(record.graphs, known->changed_from);
  return known == nullptr || !known->whole || std::ranges::any_of(known->nodes, [](const GraphNode& node) {
           return node.type == wire::graph_node::kEventRecord;
         });
}

// The name of a call as it appears in source code: "cuMemcpyDtoH" for "cuMemcpyDtoH_v2_ptds". cuda.h redirects
// cuMemcpyDtoH and others to their newest versions, and to variants for per-thread default streams.
std::string written_name(std::string name);

// The name of the call that the program itself made: the runtime call if there is one, otherwise the driver
// call.
template <typename Call>
const std::string& visible_call(const Call& call) {
  return call.outer.empty() ? call.call : call.outer;
}

// Facts about a process, each recorded once. The recorder stores their keys and values as text.
enum class Property : std::uint8_t {
  argv,       // command-line arguments, each terminated by a NUL
  core_dump,  // see wire/pass_files.h
  cuda,       // version of the driver's API
  cupti,
  cupti_path,
  cwd,
  exe,
  flight_recorder,  // path of PyTorch's Flight Recorder dumps, without the rank number
  forked_at,        // id of the site that forked last
  forked_from,      // "4711 12": pid of the parent, and id of the site in the parent
  host,
  late_launch_blocking,  // value of CUDA_LAUNCH_BLOCKING that was set after CUDA had started
  launch_blocking,       // value of CUDA_LAUNCH_BLOCKING
  left_at_work,          // pids of processes that were working when this one ended
  mps,
  pageable_access,  // "1" if a GPU of the process can access pageable host memory
  python,           // version
  python_hook,
  rank,
  visible_devices,  // value of CUDA_VISIBLE_DEVICES
  watched_by,       // "hooks" or "cupti"
};

bool has(const ProcessRecord& record, Property property);
const std::string& value_of(const ProcessRecord& record, Property property);

// Returns whether the driver was to write a GPU core dump of the process at the first failure, but has written none.
// Error 719 may then stand for any exception.
bool awaited_core_dump(const ProcessRecord& record);
bool left_core_dump(const ProcessRecord& record);
// Returns whether the driver has written a GPU core dump of the process because someone requested it.
bool left_requested_dump(const ProcessRecord& record);

// Return the PCI bus id and the name of a device, or "" if the process did not record it. `device` is the process's
// own number for the device.
const std::string& pci_bus_id(const ProcessRecord& record, std::size_t device);
const std::string& device_name(const ProcessRecord& record, std::size_t device);

}  // namespace cudadiag::session
