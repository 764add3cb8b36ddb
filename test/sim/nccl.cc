// The simulated NCCL: communicators, collectives, sends and receives, as a profiler plugin and the recorder see them.
// It calls the plugin in the same order as NCCL 2.23 to 2.29. SIM_NCCL_INTERFACE is the newest version of the interface
// that it offers (6).
//
// Ranks meet in a file named by SIM_NCCL_FILE, which all of them share. A kernel finishes once all ranks of its
// collective, or both ends of a message, have reached it on the GPU. If the function, size or type of one rank's call
// differs from that of the first caller, no rank's kernel ever finishes.
#include "abi.h"
//
#include <dlfcn.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hooks.h"
#include "record/nccl_profiler.h"

namespace profiler = cudadiag::record::profiler;

namespace {

// ---- where ranks meet

struct Place {
  std::atomic<std::uint64_t> key, signature;
  std::atomic<std::uint32_t> arrived;
};
constexpr std::size_t kPlaces = 1 << 16;

Place* places() {
  static Place* const shared = [] {
    const char* file = std::getenv("SIM_NCCL_FILE");
    const int fd = file ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || ftruncate(fd, kPlaces * sizeof(Place)) != 0) std::abort();
    void* memory = mmap(nullptr, kPlaces * sizeof(Place), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Place*>(memory);
  }();
  return shared;
}

std::uint64_t hash_of(const std::string& text) { return std::hash<std::string>()(text) | 1; }

Place& place_of(const std::string& name) {
  const std::uint64_t key = hash_of(name);
  for (std::size_t i = key;; ++i) {
    Place& place = places()[i % kPlaces];
    std::uint64_t there = 0;
    if (place.key.compare_exchange_strong(there, key) || there == key) return place;
  }
}

// ---- the plugin

using Any = profiler::Table<profiler::InitById>;  // the tables differ only in init

struct Plugin {
  int version = 0;  // 0 if there is none
  void* found = nullptr;
  Any* table = nullptr;  // the same table, except for init of older versions
  int mask = 0;
};

Plugin& plugin() {
  static Plugin loaded = [] {
    Plugin found;
    const char* name = std::getenv("NCCL_PROFILER_PLUGIN");
    if (name && strcasecmp(name, "none") == 0) return found;
    void* library = dlopen(name && *name ? name : "libnccl-profiler.so", RTLD_NOW);
    if (!library && name) library = dlopen(("libnccl-profiler-" + std::string(name) + ".so").c_str(), RTLD_NOW);
    const char* newest = std::getenv("SIM_NCCL_INTERFACE");
    for (int version = newest ? std::atoi(newest) : 6; library && version > 1 && !found.table; --version) {
      found.version = version;
      found.found = dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str());
      found.table = static_cast<Any*>(found.found);
    }
    if (!found.table) found.version = 0;
    return found;
  }();
  return loaded;
}

bool wants(std::uint64_t events) { return plugin().table && (static_cast<std::uint64_t>(plugin().mask) & events) != 0; }

constexpr std::uint64_t kParts =
    profiler::kProxyOperation | profiler::kProxyStep | profiler::kKernelChannel | profiler::kNetwork;

// ---- communicators

struct Comm {
  std::string name;
  std::uint64_t hash = 0;
  int ranks = 0, rank = 0;
  void* context = nullptr;
  std::map<std::string, std::uint64_t> sequence;  // by function
  std::uint64_t collectives = 0;
  std::map<std::tuple<int, int, bool>, std::uint64_t> messages;  // by sender, receiver and whether the caller sends
};

struct Task {
  Comm* comm;
  const char* function;
  const char* type;
  std::uint64_t count;
  int peer;  // or root
  CUstream stream;
  void* call = nullptr;  // the plugin's handle
  void* event = nullptr;
  bool pairs() const { return !std::strcmp(function, "Send") || !std::strcmp(function, "Recv"); }
};

struct Group {
  int depth = 0;
  void* handle = nullptr;
  std::vector<Task> tasks;
};
thread_local Group group;

constexpr const char* kTypes[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                  "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};

void start(Comm& comm, void** handle, void* event) { plugin().table->start_event(comm.context, handle, event); }
void stop(void* handle) {
  if (handle) plugin().table->stop_event(handle);
}

template <typename Event>
void fill_head(Event& event, std::uint64_t type, void* parent, int rank) {
  // Up to version 4 of the interface, only the lowest byte of `type` is defined, so the other bytes are arbitrary.
  event.head.type = plugin().version < 5 ? 0x5a5a5a00 | type : type;
  event.head.parent = parent;
  event.head.rank = rank;
}

struct HeadEvent {
  profiler::EventHead head;
  char rest[256] = {};
};

template <typename Event>
void fill(Event& event, const Task& task) {
  event.function = task.function;
  event.type = task.type;
  event.count = task.count;
}

void start_task(Task& task, void* group_event) {
  Comm& comm = *task.comm;
  const int version = plugin().version;
  void* parent = version >= 5 ? task.call : group_event;
  if (task.pairs()) {
    if (!wants(profiler::kPointToPoint | kParts)) return;
    profiler::PointToPointEvent event{};
    profiler::NamedPointToPointEvent named{};
    fill_head(event, profiler::kPointToPoint, parent, comm.rank),
        fill_head(named, profiler::kPointToPoint, parent, comm.rank);
    fill(event, task), fill(named, task);
    event.peer = named.peer = task.peer;
    named.communicator = comm.name.c_str(), named.hash = comm.hash;
    version < 4 ? start(comm, &task.event, &named) : start(comm, &task.event, &event);
    return;
  }
  const std::uint64_t sequence = comm.sequence[task.function]++;
  if (!wants(profiler::kCollective | kParts)) return;
  profiler::CollectiveEvent event{};
  profiler::NamedCollectiveEvent named{};
  fill_head(event, profiler::kCollective, parent, comm.rank),
      fill_head(named, profiler::kCollective, parent, comm.rank);
  fill(event, task), fill(named, task);
  event.root = named.root = task.peer;
  event.sequence = named.sequence = sequence;
  named.communicator = comm.name.c_str(), named.hash = comm.hash;
  version < 4 ? start(comm, &task.event, &named) : start(comm, &task.event, &event);
}

// ---- kernels

CUfunction kernel(const std::string& function) {
  static thread_local std::map<std::string, CUfunction> known;
  CUfunction& found = known[function];
  if (found) return found;
  CUmodule module = nullptr;
  const bool sums = function == "AllReduce" || function == "ReduceScatter" || function == "Reduce";
  const std::string name = function == "SendRecv" ? "ncclDevKernel_SendRecv"
                                                  : "ncclDevKernel_" + function + (sums ? "_Sum_f32" : "") + "_RING_LL";
  const std::string image =
      ".version 6.0\n.target sm_50\n.address_size 64\n.entry " + name + "(.param .b32768 arguments)\n";
  if (cuModuleLoadData(&module, image.c_str()) == CUDA_SUCCESS) cuModuleGetFunction(&found, module, name.c_str());
  return found;
}

sim::Meeting meeting(const Task& task) {
  Comm& comm = *task.comm;
  std::string name = comm.name;
  if (task.pairs()) {
    const bool sends = !std::strcmp(task.function, "Send");
    const int from = sends ? comm.rank : task.peer, to = sends ? task.peer : comm.rank;
    name += ' ' + std::to_string(from) + " to " + std::to_string(to) + ' ' +
            std::to_string(++comm.messages[{from, to, sends}]);
  } else {
    name += ' ' + std::to_string(++comm.collectives);
  }
  Place& place = place_of(name);
  const std::uint64_t own =
      hash_of((task.pairs() ? "" : task.function) + std::string(" ") + std::to_string(task.count) + task.type);
  std::uint64_t first = 0;
  const bool same = place.signature.compare_exchange_strong(first, own) || first == own;
  const auto parties = static_cast<std::uint32_t>(task.pairs() ? 2 : comm.ranks);
  return {&place.arrived, same ? parties : UINT32_MAX, same};
}

// All tasks of one communicator run in one kernel.
int launch(Comm& comm, std::vector<Task*>& tasks) {
  std::vector<sim::Meeting> meetings;
  for (const Task* task : tasks) meetings.push_back(meeting(*task));
  void* launch_event = nullptr;
  const int version = plugin().version;
  if (version >= 5 && wants(profiler::kKernelLaunch)) {
    HeadEvent event{};
    fill_head(event, profiler::kKernelLaunch, group.handle, comm.rank);
    start(comm, &launch_event, &event);
  }
  sim_next_kernel_meets(meetings.data(), meetings.size());
  const CUfunction function = kernel(tasks.front()->pairs() ? "SendRecv" : tasks.front()->function);
  // This buffer is smaller than the kernel's parameter, because NCCL passes only the used part.
  std::uint64_t arguments[16] = {};
  std::size_t bytes = sizeof arguments;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  const CUresult result = cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, tasks.front()->stream, nullptr, extra);
  stop(launch_event);
  void* group_event = nullptr;
  if (wants(profiler::kGroup | profiler::kCollective | profiler::kPointToPoint | kParts)) {
    HeadEvent event{};
    fill_head(event, profiler::kGroup, nullptr, 0);
    start(comm, &group_event, &event);
  }
  for (Task* task : tasks) start_task(*task, group_event);
  for (Task* task : tasks) stop(task->event);
  stop(group_event);
  return result == CUDA_SUCCESS ? 0 : 1;
}

int end_group() {
  if (--group.depth > 0) return 0;
  std::vector<Task> tasks = std::move(group.tasks);
  group.tasks.clear();
  int result = 0;
  std::vector<Comm*> comms;
  for (const Task& task : tasks) {
    if (std::find(comms.begin(), comms.end(), task.comm) == comms.end()) comms.push_back(task.comm);
  }
  for (Comm* comm : comms) {
    // Collectives come before messages, each in a separate kernel.
    for (const bool pairs : {false, true}) {
      std::vector<Task*> of_comm;
      for (Task& task : tasks) {
        if (task.comm == comm && task.pairs() == pairs) of_comm.push_back(&task);
      }
      if (!of_comm.empty()) result |= launch(*comm, of_comm);
    }
  }
  stop(std::exchange(group.handle, nullptr));
  return result;
}

int enqueue(Task task) {
  ++group.depth;
  Comm& comm = *task.comm;
  constexpr std::uint64_t kAnyCall = profiler::kGroupCall | profiler::kCollectiveCall | profiler::kPointToPointCall |
                                     profiler::kKernelLaunch | profiler::kGroup | profiler::kCollective |
                                     profiler::kPointToPoint | kParts;
  const bool calls = plugin().version >= 5;
  if (calls && !group.handle && wants(kAnyCall)) {
    HeadEvent event{};
    fill_head(event, profiler::kGroupCall, nullptr, 0);
    start(comm, &group.handle, &event);
  }
  if (calls && wants(task.pairs() ? profiler::kPointToPointCall | profiler::kPointToPoint | kParts
                                  : profiler::kCollectiveCall | profiler::kCollective | kParts)) {
    // A point-to-point call has the same layout as a collective one, without the root.
    profiler::CollectiveCallEvent event{};
    fill_head(event, task.pairs() ? profiler::kPointToPointCall : profiler::kCollectiveCall, group.handle, 0);
    fill(event, task);
    event.root = task.peer;
    event.stream = task.stream;
    start(comm, &task.call, &event);
    stop(task.call);
  }
  group.tasks.push_back(task);
  return end_group();
}

}  // namespace

extern "C" {

void* sim_nccl_join(const char* name, int ranks, int rank) {
  auto* comm = new Comm{.name = name, .hash = hash_of(name), .ranks = ranks, .rank = rank};
  Plugin& to = plugin();
  if (!to.table) return comm;
  if (to.version < 4) {
    static_cast<profiler::Table<profiler::InitUnnamed>*>(to.found)->init(&comm->context, &to.mask);
  } else if (to.version == 4) {
    static_cast<profiler::Table<profiler::InitNamed>*>(to.found)->init(&comm->context, &to.mask, name, comm->hash, 1,
                                                                       ranks, rank, nullptr);
  } else {
    to.table->init(&comm->context, comm->hash, &to.mask, name, 1, ranks, rank, nullptr);
  }
  return comm;
}

int ncclCommDestroy(void* comm) {
  std::unique_ptr<Comm> owned(static_cast<Comm*>(comm));
  if (plugin().table && owned->context) plugin().table->finalize(owned->context);
  return 0;
}

int ncclGroupStart() { return ++group.depth, 0; }
int ncclGroupEnd() { return end_group(); }

int ncclAllReduce(const void*, void*, std::size_t count, int type, int, void* comm, CUstream stream) {
  return enqueue({static_cast<Comm*>(comm), "AllReduce", kTypes[type], count, -1, stream});
}
int ncclReduceScatter(const void*, void*, std::size_t count, int type, int, void* comm, CUstream stream) {
  return enqueue({static_cast<Comm*>(comm), "ReduceScatter", kTypes[type], count, -1, stream});
}
int ncclAllGather(const void*, void*, std::size_t count, int type, void* comm, CUstream stream) {
  return enqueue({static_cast<Comm*>(comm), "AllGather", kTypes[type], count, -1, stream});
}
int ncclBroadcast(const void*, void*, std::size_t count, int type, int root, void* comm, CUstream stream) {
  return enqueue({static_cast<Comm*>(comm), "Broadcast", kTypes[type], count, root, stream});
}
int ncclSend(const void*, std::size_t count, int type, int peer, void* comm, CUstream stream) {
  return enqueue({static_cast<Comm*>(comm), "Send", kTypes[type], count, peer, stream});
}
int ncclRecv(void*, std::size_t count, int type, int peer, void* comm, CUstream stream) {
  return enqueue({static_cast<Comm*>(comm), "Recv", kTypes[type], count, peer, stream});
}
}
