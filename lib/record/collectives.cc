#include "record/collectives.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <span>
#include <type_traits>

#include "record/nccl_profiler.h"
#include "wire/environment.h"
#include "wire/hash.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace collective = wire::collective;
namespace communicator = wire::communicator;
namespace peer = wire::peer;

namespace {

std::uint8_t index_of(const char* name, std::span<const std::string_view> names) {
  if (name == nullptr) return 0;
  const auto found = std::find(names.begin() + 1, names.end(), std::string_view(name));
  return static_cast<std::uint8_t>(found == names.end() ? 0 : found - names.begin());
}

template <typename Field>
std::uint64_t add_one(std::byte* record, Field field) {
  return wire::atomic(record, field).fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

std::byte* Collectives::entry(std::uint32_t index) {
  return area_->region(area::Region::communicators) + index * communicator::kSize;
}

std::uint32_t Collectives::made(const CommunicatorMade& made) {
  const LockGuard lock(mutex_);
  const std::uint32_t index = used_.load(std::memory_order_relaxed);
  if (index == area::kCommunicators) {
    area_->count(area::kDroppedCommunicators);
    return kNone;
  }
  std::byte* to = entry(index);
  wire::store(to, communicator::kRank, made.rank);
  wire::store(to, communicator::kHash, made.hash);
  wire::store(to, communicator::kRanks, made.ranks);
  wire::store(to, communicator::kVersion, made.version);
  wire::store(to, communicator::kMade, ticks());
  memcpy(to + communicator::kName, made.name.data(), std::min(made.name.size(), communicator::kNameSize));
  wire::store_release(to, communicator::kState, static_cast<std::uint32_t>(communicator::State::live));
  used_.store(index + 1, std::memory_order_release);
  return index;
}

std::uint32_t Collectives::find_or_make(const CommunicatorMade& wanted) {
  for (std::uint32_t index = 0; index < used_.load(std::memory_order_acquire); ++index) {
    const std::byte* to = entry(index);
    if (wire::load(to, communicator::kHash) == wanted.hash && wire::load(to, communicator::kRank) == wanted.rank &&
        wire::load(to, communicator::kState) == static_cast<std::uint32_t>(communicator::State::live)) {
      return index;
    }
  }
  return made(wanted);
}

void Collectives::finalized(std::uint32_t index) {
  if (index == kNone) return;
  wire::store_release(entry(index), communicator::kState, static_cast<std::uint32_t>(communicator::State::finalized));
}

// Counts one call with a peer and returns its ordinal. Finds or creates the peer's entry by linear probing. Returns 0
// if all probed entries belong to other keys.
std::uint32_t Collectives::ordinal_of_peer(std::uint32_t index, std::uint32_t of, bool receives) {
  constexpr std::size_t kProbes = 64;
  const std::uint64_t key = peer::key_of(index, of, receives);
  const std::size_t first = wire::mix(wire::kHashSeed, key) % area::kPeers;
  for (std::size_t i = 0; i < kProbes; ++i) {
    std::byte* place = area_->region(area::Region::peers) + (first + i) % area::kPeers * peer::kSize;
    std::uint64_t there = wire::load_acquire(place, peer::kKey);
    if (there == 0 && wire::atomic(place, peer::kKey).compare_exchange_strong(there, key)) there = key;
    if (there == key) return static_cast<std::uint32_t>(add_one(place, peer::kCalls));
  }
  area_->count(area::kDroppedPeers);
  return 0;
}

void Collectives::called(const CollectiveCall& call, std::uint8_t thread, std::uint32_t site) {
  if (call.communicator == kNone) return;
  const auto function = index_of(call.function, collective::kFunctionNames);
  const bool pairs = collective::is_point_to_point(static_cast<collective::Function>(function));
  std::uint8_t flags = call.flags;
  std::uint32_t ordinal = 0, of_function = 0;
  std::byte* of = entry(call.communicator);
  if (pairs) {
    const bool receives = function == static_cast<std::uint8_t>(collective::Function::receive);
    ordinal = ordinal_of_peer(call.communicator, static_cast<std::uint32_t>(call.peer), receives);
  } else {
    std::atomic<std::uint32_t>& count = of_function_[call.communicator][function];
    if (call.sequence && *call.sequence < count.load(std::memory_order_relaxed)) flags |= collective::kCaptured;
    if ((flags & collective::kCaptured) == 0) {
      of_function = count.fetch_add(1, std::memory_order_relaxed) + 1;
      ordinal = static_cast<std::uint32_t>(add_one(of, communicator::kCollectives));
    } else {
      add_one(of, communicator::kCaptured);
    }
  }
  const std::uint64_t number = add_one(area_->header(), area::kCollectivesCalled);
  std::byte* record = area_->region(area::Region::collectives) + (number - 1) % area::kCollectives * collective::kSize;
  wire::store_release(record, collective::kNumber, 0);
  std::atomic_thread_fence(std::memory_order_release);
  wire::store(record, collective::kTicks, ticks());
  wire::store(record, collective::kCount, call.count);
  wire::store(record, collective::kStream, call.stream);
  wire::store(record, collective::kOrdinal, ordinal);
  wire::store(record, collective::kOfFunction, of_function);
  wire::store(record, collective::kPeer, call.peer);
  wire::store(record, collective::kCommunicator, static_cast<std::uint16_t>(call.communicator));
  wire::store(record, collective::kSite, static_cast<std::uint16_t>(site));
  wire::store(record, collective::kFunction, function);
  wire::store(record, collective::kType, index_of(call.type, collective::kTypeNames));
  wire::store(record, collective::kFlags, flags);
  wire::store(record, collective::kThread, thread);
  wire::store_release(record, collective::kNumber, number);
}

}  // namespace cudadiag::record

// Our profiler plugin for NCCL: the tables that NCCL looks up in this library. Our code never makes an NCCL call fail.
//
// A plugin that the user chose receives exactly the same events as without cudadiag. It keeps its own table versions,
// contexts and handles, and gets only the events that its own mask requests.
namespace cudadiag::record::profiler {

namespace {

// The profiler plugin that NCCL would load without cudadiag: the user's choice or, without one, NCCL's default.
class NamedPlugin {
 public:
  // The first call searches for the plugin in the same places as NCCL.
  static const NamedPlugin& instance();

  bool exists() const { return library_ != nullptr; }
  // Returns the plugin's table for this version, or null if it has none.
  void* table(int version) const;

 private:
  void search();

  void* library_ = nullptr;
};

constexpr std::size_t kLongestName = 255;  // NCCL truncates names to this length

// A plugin may be linked into the program itself. The user's NCCL_PROFILER_PLUGIN is then any prefix of STATIC_PLUGIN,
// in upper or lower case.
bool means_program(const char* name) {
  const char* word = "STATIC_PLUGIN";
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
  while (*name != '\0' && upper(*name) == *word) ++name, ++word;
  return *name == '\0';
}

bool is_bare_word(const char* name) {
  const std::size_t size = strlen(name);
  const bool ends_like_library = size >= 3 && strcmp(name + size - 3, ".so") == 0;
  return strchr(name, '/') == nullptr && (strncmp(name, "lib", 3) != 0 || !ends_like_library);
}

void* open_library(const char* name) { return dlopen(means_program(name) ? nullptr : name, RTLD_NOW | RTLD_LOCAL); }

bool has_table(void* library) {
  for (int version = 1; version <= 6; ++version) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
    if (dlsym(library, symbol) != nullptr) return true;
  }
  return false;
}

void* open_by(const char* name, const char* prefix) {
  const bool is_named = name != nullptr && *name != '\0';
  char file[kLongestName];
  is_named ? snprintf(file, sizeof file, "%s", name) : snprintf(file, sizeof file, "%s.so", prefix);
  if (void* library = open_library(file)) return library;
  if (!is_named || !is_bare_word(name)) return nullptr;
  snprintf(file, sizeof file, "%s-%s.so", prefix, name);
  return open_library(file);
}

// If NCCL finds no profiler elsewhere, it looks in the network plugin, which is already loaded.
void* network_plugin() {
  const char* name = getenv("NCCL_NET_PLUGIN");
  char file[kLongestName];
  if (name == nullptr || *name == '\0') return dlopen("libnccl-net.so", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return library;
  snprintf(file, sizeof file, "libnccl-net-%s.so", name);
  return dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

const NamedPlugin& NamedPlugin::instance() {
  static constinit NamedPlugin plugin;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] { plugin.search(); });
  return plugin;
}

void NamedPlugin::search() {
  library_ = open_by(getenv(wire::environment::kProfiler), "libnccl-profiler");
  if (library_ == nullptr) library_ = network_plugin();
  if (library_ != nullptr && !has_table(library_)) library_ = nullptr;
  dlerror();  // clears our error, so that NCCL does not report it
}

void* NamedPlugin::table(int version) const {
  if (library_ == nullptr) return nullptr;
  char symbol[32];
  snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
  void* found = dlsym(library_, symbol);
  dlerror();
  return found;
}

// The context that NCCL passes to our functions: one for each communicator.
struct Context {
  void* named = nullptr;  // the context of the user's plugin
  bool names = false;     // whether the user's plugin receives this communicator's events
  int* mask = nullptr;    // the event mask that NCCL reads
  std::uint32_t communicator = Collectives::kNone;
};

// All contexts of this process. With NCCL's PXN, a proxy thread also reports events of another process. The context of
// these events is an address in the other process, and must not be dereferenced here.
std::array<std::atomic<const Context*>, 4096> g_contexts;
std::atomic<bool> g_lacks_contexts;  // true if some contexts of this process did not fit

bool enter_context(const Context* context) {
  for (std::atomic<const Context*>& place : g_contexts) {
    const Context* free = nullptr;
    if (place.compare_exchange_strong(free, context)) return true;
  }
  g_lacks_contexts.store(true, std::memory_order_relaxed);
  return false;
}

void forget_context(const Context* context) {
  for (std::atomic<const Context*>& place : g_contexts) {
    const Context* own = context;
    if (place.compare_exchange_strong(own, nullptr)) return;
  }
}

bool is_of_this_process(const void* context) {
  return std::any_of(g_contexts.begin(), g_contexts.end(), [&](const std::atomic<const Context*>& place) {
    return place.load(std::memory_order_relaxed) == context;
  });
}

constexpr bool may_be_foreign(std::uint64_t type) {
  return (type & (kProxyOperation | kProxyStep | kProxyControl | kKernelChannel | kNetwork)) != 0;
}

// The event mask of the user's plugin, which may change the mask at any time.
int g_named_mask;

constexpr int own_mask(int version) {
  return static_cast<int>(version >= 5 ? kCollectiveCall | kPointToPoint : kCollective | kPointToPoint);
}

// Returns the mask bits that make NCCL send events of this type, including the bits of child events.
constexpr std::uint64_t asked_for_by(std::uint64_t type) {
  constexpr std::uint64_t kParts = kProxyOperation | kProxyStep | kKernelChannel | kNetwork;
  constexpr std::uint64_t kCopyEngine = kCopyEngineCollective | kCopyEngineSync | kCopyEngineBatch;
  switch (type) {
    case kGroup:
      return kGroup | kCollective | kPointToPoint | kParts;
    case kCollective:
      return kCollective | kParts;
    case kPointToPoint:
      return kPointToPoint | kParts;
    case kGroupCall:
      return kGroupCall | kPointToPointCall | kCollectiveCall | kKernelLaunch | kGroup | kCollective | kPointToPoint |
             kParts | kCopyEngine;
    case kCollectiveCall:
      return kCollectiveCall | kCollective | kParts | kCopyEngine;
    case kPointToPointCall:
      return kPointToPointCall | kPointToPoint | kParts;
    default:
      return ~std::uint64_t{0};  // our plugin requests no other events
  }
}

std::uint64_t type_of(const EventHead& head, int version) { return version >= 5 ? head.type : head.type & 0xff; }

template <typename Event>
CollectiveCall call_of(const Event& event, std::uint32_t communicator, std::int32_t peer) {
  return {communicator, event.function, event.type, event.count, peer, 0, 0, {}};
}

template <typename Event>
std::uint32_t communicator_of(const Event& event, int version) {
  const std::string_view name = event.communicator == nullptr ? "" : event.communicator;
  return enter_communicator({event.hash, name, event.head.rank, 0, version}, true);
}

void record(Context& context, const void* event, std::uint64_t type, int version, std::uintptr_t frame) {
  if (version < 4) {
    if (type == kCollective) {
      const auto& told = *static_cast<const NamedCollectiveEvent*>(event);
      CollectiveCall call = call_of(told, communicator_of(told, version), told.root);
      call.sequence = told.sequence;
      enter_collective(call, frame);
    } else if (type == kPointToPoint) {
      const auto& told = *static_cast<const NamedPointToPointEvent*>(event);
      enter_collective(call_of(told, communicator_of(told, version), told.peer), frame);
    }
    return;
  }
  if (context.communicator == Collectives::kNone) return;
  if (type == kPointToPoint) {
    const auto& told = *static_cast<const PointToPointEvent*>(event);
    enter_collective(call_of(told, context.communicator, told.peer), frame);
  } else if (type == kCollectiveCall) {
    const auto& told = *static_cast<const CollectiveCallEvent*>(event);
    CollectiveCall call = call_of(told, context.communicator, told.root);
    call.stream = reinterpret_cast<std::uint64_t>(told.stream);
    call.flags = wire::collective::kBeforeLaunch;
    if (told.captured) call.flags |= wire::collective::kCaptured;
    enter_collective(call, frame);
  } else if (type == kCollective && version == 4) {
    const auto& told = *static_cast<const CollectiveEvent*>(event);
    CollectiveCall call = call_of(told, context.communicator, told.root);
    call.sequence = told.sequence;
    enter_collective(call, frame);
  }
}

template <int Version>
struct Plugin {
  using Init = std::conditional_t<Version == 4, InitNamed, std::conditional_t<(Version > 4), InitById, InitUnnamed>>;

  static Table<Init> table;  // the functions that NCCL calls
  static const Table<Init>* named;

  static int start_event(void* from, void** handle, void* event) {
    *handle = nullptr;
    if (from == nullptr) return kSuccess;
    const std::uint64_t type = type_of(*static_cast<const EventHead*>(event), Version);
    if (may_be_foreign(type) && !is_of_this_process(from)) {
      const bool is_foreign = !g_lacks_contexts.load(std::memory_order_relaxed);
      return named != nullptr && is_foreign ? named->start_event(from, handle, event) : kSuccess;
    }
    Context& context = *static_cast<Context*>(from);
    record(context, event, type, Version, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
    if (!context.names) return kSuccess;
    const int wanted = __atomic_load_n(&g_named_mask, __ATOMIC_RELAXED);
    if (const int both = wanted | own_mask(Version); __atomic_load_n(context.mask, __ATOMIC_RELAXED) != both) {
      __atomic_store_n(context.mask, both, __ATOMIC_RELAXED);
    }
    if ((asked_for_by(type) & static_cast<std::uint64_t>(wanted)) == 0) return kSuccess;
    return named->start_event(context.named, handle, event);
  }

  static int stop_event(void*) { return kSuccess; }
  static int record_state(void*, int, void*) { return kSuccess; }

  static int finalize(void* from) {
    auto* context = static_cast<Context*>(from);
    if (context == nullptr) return kSuccess;
    int result = kSuccess;
    if (context->names && context->named != nullptr) result = named->finalize(context->named);
    leave_communicator(context->communicator);
    forget_context(context);
    context->~Context();
    free(context);
    return result;
  }

  // Returns null if malloc fails. The communicator is then not recorded.
  static Context* make_context(void** to, int* mask) {
    void* memory = malloc(sizeof(Context));
    *to = memory;
    if (memory == nullptr) return nullptr;
    auto* context = new (memory) Context;
    context->mask = mask;
    return context;
  }

  static int finish(Context& context, int result_of_named) {
    context.names = named != nullptr && result_of_named == kSuccess && enter_context(&context);
    const int others = context.names ? __atomic_load_n(&g_named_mask, __ATOMIC_RELAXED) : 0;
    __atomic_store_n(context.mask, own_mask(Version) | others, __ATOMIC_RELAXED);
    return kSuccess;
  }

  static int init(void** to, int* mask) {
    Context* context = make_context(to, mask);
    if (context == nullptr) return kSuccess;
    return finish(*context, named == nullptr ? kSuccess : named->init(&context->named, &g_named_mask));
  }

  static int init(void** to, int* mask, const char* name, std::uint64_t hash, int nodes, int ranks, int rank, Log log) {
    Context* context = make_context(to, mask);
    if (context == nullptr) return kSuccess;
    context->communicator = enter_communicator({hash, name == nullptr ? "" : name, rank, ranks, Version}, false);
    return finish(*context, named == nullptr
                                ? kSuccess
                                : named->init(&context->named, &g_named_mask, name, hash, nodes, ranks, rank, log));
  }

  static int init(void** to, std::uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank, Log log) {
    Context* context = make_context(to, mask);
    if (context == nullptr) return kSuccess;
    context->communicator = enter_communicator({hash, name == nullptr ? "" : name, rank, ranks, Version}, false);
    return finish(*context, named == nullptr
                                ? kSuccess
                                : named->init(&context->named, hash, &g_named_mask, name, nodes, ranks, rank, log));
  }

  // Returns the table that NCCL uses for this version.
  static void* found() {
    const NamedPlugin& other = NamedPlugin::instance();
    void* theirs = other.table(Version);
    // If the user's plugin lacks this version, NCCL must try other versions.
    if (other.exists() && theirs == nullptr) return nullptr;
    if (!takes_collectives()) return theirs;
    named = static_cast<const Table<Init>*>(theirs);
    if (named != nullptr) {
      table.name = named->name;
      table.stop_event = named->stop_event;
      table.record_state = named->record_state;
    }
    return &table;
  }
};

template <int Version>
Table<typename Plugin<Version>::Init> Plugin<Version>::table = {"cudadiag",
                                                                &Plugin<Version>::init,
                                                                &Plugin<Version>::start_event,
                                                                &Plugin<Version>::stop_event,
                                                                &Plugin<Version>::record_state,
                                                                &Plugin<Version>::finalize};
template <int Version>
const Table<typename Plugin<Version>::Init>* Plugin<Version>::named = nullptr;

using Anything = void (*)();

}  // namespace

}  // namespace cudadiag::record::profiler
// Each symbol is an indirect function (ifunc): dlsym() calls the resolver and returns its result. A null result hides
// the version from NCCL. The resolvers are not static, because Clang would mangle their names.
#define CUDADIAG_PROFILER(version, table)                                                                      \
  extern "C" {                                                                                                 \
  [[gnu::visibility("hidden")]] cudadiag::record::profiler::Anything cudadiag_resolve_v##version() {           \
    return reinterpret_cast<cudadiag::record::profiler::Anything>(table);                                      \
  }                                                                                                            \
  __attribute__((visibility("default"), ifunc("cudadiag_resolve_v" #version))) void ncclProfiler_v##version(); \
  }

CUDADIAG_PROFILER(1, cudadiag::record::profiler::NamedPlugin::instance().table(1))
CUDADIAG_PROFILER(2, cudadiag::record::profiler::Plugin<2>::found())
CUDADIAG_PROFILER(3, cudadiag::record::profiler::Plugin<3>::found())
CUDADIAG_PROFILER(4, cudadiag::record::profiler::Plugin<4>::found())
CUDADIAG_PROFILER(5, cudadiag::record::profiler::Plugin<5>::found())
CUDADIAG_PROFILER(6, cudadiag::record::profiler::Plugin<6>::found())
