// The objects behind the driver's opaque handles. Gpu::mutex guards all members except those whose comments say
// otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "abi.h"
#include "plan.h"

namespace sim {

// Pending until `stream` has finished its first `count` entries.
struct Dependency {
  std::shared_ptr<CUstream_st> stream;
  std::uint64_t count = 0;
  bool met() const;
};

// One entry of a stream's queue.
struct Op {
  enum class Kind : std::uint8_t {
    kernel,
    copy,
    set8,
    set32,
    prefetch,
    host_function,
    write32,
    wait32,
    wait_streams,
    record_event,  // in graphs: `data` is the event
    wait_event,
  };
  Kind kind = Kind::kernel;
  bool device_source = false;       // the source is device memory, checked when the operation runs
  bool device_destination = false;  // likewise
  bool through = false;             // the destination is the pointer that the source contains at run time
  unsigned int flags = 0;
  std::uint32_t value = 0;
  std::uint64_t destination = 0;
  std::uint64_t source = 0;
  std::uint64_t bytes = 0;
  CUfunction function = nullptr;
  unsigned int grid[3] = {}, block[3] = {}, shared_bytes = 0;
  CUhostFn host_function = nullptr;
  void* data = nullptr;
  Rule* rule = nullptr;
  std::uint64_t sequence = 0;        // order of issue in the process
  std::shared_ptr<char[]> staged{};  // copied from pageable memory during the call
  std::vector<Dependency> after{};
  std::vector<Meeting> meetings{};
  bool has_arrived = false;                     // has arrived at all meetings
  std::vector<std::vector<char>> parameters{};  // only for a kernel whose name gives their sizes

  Work work() const;
  // Returns the size that plans refer to: a kernel's blocks in x, or the bytes of other operations.
  std::uint64_t size() const { return kind == Kind::kernel ? grid[0] : bytes; }
};

struct Capture {
  CUgraph graph = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  CUstream origin = nullptr;
  std::vector<CUstream> members;
  std::uint64_t id = 0;
  bool invalid = false;
};

}  // namespace sim

struct CUctx_st {
  CUdevice device = 0;
  std::atomic<std::uint32_t> uid{0};  // changes when a primary context is recreated at the same address
  std::atomic<CUresult> error{CUDA_SUCCESS};
  CUresult unseen = CUDA_SUCCESS;  // the context has failed with this code, but no call has returned it yet
  std::atomic<bool> alive{false};
  std::atomic<std::uint64_t> asked{0};  // sequence of the newest operation that a call has waited for or queried
  unsigned int retained = 0;
  std::uint64_t last_blocking =
      0;  // sequence of the newest operation on a stream that synchronises with the legacy one
  std::shared_ptr<CUstream_st> legacy;
  std::vector<std::shared_ptr<CUstream_st>> streams;  // including the legacy and the per-thread streams
  std::unordered_map<std::thread::id, std::shared_ptr<CUstream_st>> per_thread;
  std::set<CUcontext> peers;  // requested peers; all memory is accessible without a request, too
};

struct CUstream_st : std::enable_shared_from_this<CUstream_st> {
  CUcontext context = nullptr;
  std::uint32_t context_uid = 0;
  std::uint32_t index = 0;  // order of creation in the process, as in plans; 0 is the legacy stream
  std::uint64_t id = 0;
  unsigned int flags = 0;
  int priority = 0;
  std::atomic<bool> destroyed{false};
  bool active = false;  // in the worker's list

  std::vector<sim::Op> incoming;
  std::vector<sim::Op> running;  // only the worker uses it
  std::size_t next = 0;          // only the worker uses it
  std::uint64_t issued = 0;
  std::uint64_t legacy_seen = 0;  // how much of the legacy stream this one already waits for
  // On the legacy stream: the newest blocking operation that this stream already waits for.
  std::uint64_t last_barrier = 0;
  std::atomic<std::uint64_t> finished{0};
  std::atomic<std::uint64_t>* operations = nullptr;  // number of finished operations, as counted in plans

  std::shared_ptr<sim::Capture> capture;
  std::vector<CUgraphNode> tail;  // the nodes that the next captured node depends on

  bool synchronises_with_legacy() const { return !(flags & CU_STREAM_NON_BLOCKING); }
};

struct CUevent_st {
  sim::Dependency recorded;  // no stream: never recorded, which counts as complete
  std::shared_ptr<sim::Capture> capture;
  std::vector<CUgraphNode> tail;
  CUcontext context = nullptr;
  bool timed = true;
};

struct CUfunc_st {
  std::string name;
  bool is_kernel = false;  // the handle is a CUkernel
  CUmodule module = nullptr;
};

struct CUarray_st {
  std::uint64_t begin = 0;
  std::size_t row = 0;  // bytes from one row to the next
};

struct CUmod_st {
  std::uint32_t id = 0;
  std::string image;
  std::atomic<bool> loaded = false;  // set by the first query about a function, or by its first launch
  std::unordered_map<std::string, std::unique_ptr<CUfunc_st>> functions;
  std::unordered_map<std::string, std::pair<std::uint64_t, std::size_t>> variables;  // address and bytes
};

struct CUgraphNode_st {
  std::uint64_t id = 0;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  sim::Op op;
  std::vector<CUgraphNode> dependencies;
  CUgraph graph = nullptr;
  std::shared_ptr<CUgraph_st> child;  // for a conditional node, its body, which always runs
  CUgraph body = nullptr;             // phGraph_out points here
  bool device_updatable = false;
  std::shared_ptr<void> life = std::make_shared<char>();  // expires with the node
};

struct CUgraph_st {
  std::uint32_t id = 0;
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in order of creation
};

struct CUgraphExec_st {
  struct Step {
    CUgraphNode node;  // the node in the original graph; may have been destroyed
    sim::Op op;
    std::weak_ptr<void> life{};  // expires with the node
    bool enabled = true;
  };
  std::uint32_t id = 0;
  std::vector<Step> steps;
};

inline bool sim::Dependency::met() const {
  return !stream || stream->finished.load(std::memory_order_acquire) >= count || stream->destroyed;
}
