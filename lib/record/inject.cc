// The entry points of the recorder: InitializeInjection(), the callback for CUDA calls, and the handlers for fork,
// thread end and process exit.

#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <utility>

#include "record/calls/failures.h"
#include "record/collectives.h"
#include "record/libc_substitutes.h"
#include "record/output/area_map.h"
#include "record/process_life.h"
#include "record/python/refused_allocations.h"
#include "record/recorder.h"
#include "record/this_thread.h"
#include "wire/environment.h"
#include "wire/pass_files.h"

extern "C" int InitializeInjection();

namespace cudadiag::record {

using wire::unrecorded::What;

namespace {

#if defined(__x86_64__)
constexpr std::size_t kPageSize = 4096;
#else
constexpr std::size_t kPageSize = 65536;  // the largest page size of this architecture
#endif

// Reads as zero in a child of fork or clone, because the recorder belongs to the process that created it.
struct alignas(kPageSize) Home {
  std::atomic<bool> owned;
  std::atomic<Recorder*> recorder;  // null if this process has no recorder
};
Home g_home;
// In a child of fork, the following variables still describe the process that started the recorder.
const Recorder* g_recorder;
std::uint32_t g_pid;
std::atomic<bool> g_started;  // whether a recorder was started in this process or in an ancestor
bool g_tool_loaded_cupti;     // see start_earlier_injection()
pthread_key_t g_thread_end;

Options read_options() {
  Options options;
  if (const char* window = getenv(wire::environment::kWindow)) options.window = window;
  const char* pass = getenv(wire::environment::kPass);
  // The Python hook is needed in the rerun that waits for suspects. If the user watches a line, the hook is also needed
  // in the first run.
  options.hook = (pass != nullptr && strcmp(pass, "confirm") == 0) || getenv(wire::environment::kValues) != nullptr;
  if (const char* text = getenv(wire::environment::kRecord)) options.record = wire::parse_record_options(text);
  options.folder = getenv(wire::environment::kSession);
  options.tool_loaded_cupti = g_tool_loaded_cupti;
  return options;
}

void on_thread_end(void* state) {
  Recorder* recorder = g_home.recorder.load(std::memory_order_acquire);
  t_this.inside = true;
  // In a forked child, the thread's entry belongs to the parent and must not be released.
  if (recorder != nullptr && t_this.state == state) recorder->release_thread(*static_cast<ThreadState*>(state));
  // Later destructors may still call CUDA, so the thread continues without a ring.
  ThisThread ended{};
  ended.error_number = t_this.error_number;
  ended.asked = true;
  t_this = ended;
}

[[gnu::hot]] void CUPTIAPI callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

// Maps zero pages for a recorder, and starts it. The recorder's tables are large and mostly empty. A page takes up
// memory only once the recorder uses it. Returns null if start() fails, or if there is no room. In the second case,
// `lack` says what the process lacks.
template <typename Start>
Recorder* make_recorder(Start start, Lack& lack) {
  const bool has_room = may_take_address_space(sizeof(Recorder) + wire::area::kAreaSize);
  if (!has_room || !may_take_data(sizeof(Recorder))) {
    lack = {has_room ? What::data : What::address_space, ENOMEM};
    return nullptr;
  }
  void* memory =
      mmap(nullptr, sizeof(Recorder), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    lack = {What::memory, errno};
    return nullptr;
  }
  auto* recorder = new (memory) Recorder;
  if (start(*recorder)) return recorder;
  munmap(memory, sizeof(Recorder));
  return nullptr;
}

// Marks that the thread is inside the recorder. Restores errno at the end.
class Inside {
 public:
  explicit Inside(ThisThread& self) : self_(self), error_(*self.error_number) { self_.inside = true; }
  ~Inside() {
    self_.inside = false;
    *self_.error_number = error_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  ThisThread& self_;
  int error_;
};

[[gnu::noinline]] void introduce(Recorder& recorder, ThisThread& self) {
  self.error_number = &errno;
  const Inside inside(self);
  self.asked = true;
  self.state = recorder.acquire_thread();
  if (self.state != nullptr) pthread_setspecific(g_thread_end, self.state);
}

// ---- forks: see ForkOrigin

ForkOrigin g_origin;                // set in a forked child of a process that uses CUDA; otherwise, `parent` is null
std::atomic<bool> g_tried;          // whether the process has tried to create its recorder
std::atomic<Recorder*> g_in_child;  // null if there is none yet, or if it could not be created

std::uint32_t result_of(CUpti_CallbackDomain domain, const CUpti_CallbackData& call) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) return runtime_result(call);
  const auto* returned = static_cast<const CUresult*>(call.functionReturnValue);
  return returned == nullptr ? 0 : static_cast<std::uint32_t>(*returned);
}

void record_refused(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call,
                    std::uintptr_t frame) {
  const Uncancelled uncancelled;
  if (!g_tried.exchange(true)) {
    Lack lack{};
    const auto start = [](Recorder& made) { return made.start_in_child(g_origin); };
    g_in_child.store(make_recorder(start, lack), std::memory_order_release);
  }
  Recorder* recorder = g_in_child.load(std::memory_order_acquire);
  if (recorder == nullptr) return;
  if (!t_this.asked) {
    t_this.error_number = &errno;
    t_this.asked = true;
    t_this.state = recorder->acquire_thread();
  }
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    recorder->leave_runtime_call(t_this.state, id, call, frame);
  } else {
    recorder->refused_in_child(t_this.state, id, call, frame);
  }
}

// Handles a callback in a process without a recorder. Does nothing unless begin_child() has been called.
void see_in_child(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data, std::uintptr_t frame) {
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (g_origin.parent == nullptr || t_this.inside || (!runtime && domain != CUPTI_CB_DOMAIN_DRIVER_API)) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER) {
    if (runtime) t_this.runtime_call = call.functionName, t_this.runtime_error = 0;
    return;
  }
  if (result_of(domain, call) == kRefusedInChild) {
    const int error = errno;
    t_this.inside = true;
    record_refused(domain, id, call, frame);
    t_this.inside = false;
    errno = error;
  }
  if (runtime) t_this.runtime_call = nullptr;
}

// Runs before every fork(), on the thread that calls it.
void before_fork() {
  Recorder* recorder = g_home.recorder.load(std::memory_order_acquire);
  ThisThread& self = t_this;
  if (recorder == nullptr || self.inside) return;
  if (!self.asked) introduce(*recorder, self);
  if (self.state == nullptr) return;
  const Inside inside(self);
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uint32_t site = recorder->note_fork(*self.state, frame);
  self.fork_site = static_cast<std::uint16_t>(site <= UINT16_MAX ? site : 0);
}

void begin_child() {
  g_home.owned.store(false);
  g_home.recorder.store(nullptr);
  const std::uint32_t site = t_this.fork_site;
  t_this = {};
  // If the parent of this process is itself a forked child, keeps the parent's origin, which is the process that used
  // CUDA.
  if (g_origin.parent == nullptr) g_origin = {g_recorder, g_pid, site};
  g_tried.store(false);
  g_in_child.store(nullptr);
}

bool own_this_process() {
  // MADV_WIPEONFORK also clears g_home in a child of clone() or _Fork(), except before Linux 4.14 and in some
  // sandboxes.
  madvise(&g_home, sizeof g_home, MADV_WIPEONFORK);
  if (pthread_atfork(before_fork, nullptr, begin_child) != 0) return false;
  g_home.owned.store(true);
  return true;
}

// All code that runs at a launch is inlined into these two functions. Between launches, the program evicts this code
// from the caches, so each cache line of code is a cache miss.
[[gnu::hot, gnu::noinline, gnu::flatten]] void enter_driver_call(Recorder& recorder, ThisThread& self,
                                                                 CUpti_CallbackId id, const CUpti_CallbackData& call,
                                                                 std::uintptr_t frame) {
  const Inside inside(self);
  if (self.explained) [[unlikely]]
    driver_log::forget();
  recorder.enter_driver_call(self.state, id, call, frame);
}

[[gnu::hot, gnu::noinline, gnu::flatten]] void leave_driver_call(Recorder& recorder, ThisThread& self,
                                                                 CUpti_CallbackId id, const CUpti_CallbackData& call,
                                                                 std::uintptr_t frame) {
  const Inside inside(self);
  recorder.leave_driver_call(self.state, id, call, frame);
}

[[gnu::noinline]] void special_runtime_call(Recorder& recorder, ThisThread& self, CUpti_CallbackId id,
                                            const CUpti_CallbackData& call, std::uintptr_t frame) {
  const Inside inside(self);
  if (call.callbackSite == CUPTI_API_ENTER) {
    if (self.explained) driver_log::forget();
    recorder.enter_runtime_call(id);
  } else {
    recorder.leave_runtime_call(self.state, id, call, frame);
    self.runtime_call = nullptr;
  }
}

// Most runtime calls are not decoded, because the driver calls inside them show what they do.
[[gnu::hot, gnu::noinline]] void runtime_call(Recorder& recorder, ThisThread& self, CUpti_CallbackId id,
                                              const CUpti_CallbackData& call, std::uintptr_t frame) {
  if (call.callbackSite == CUPTI_API_ENTER) {
    self.runtime_call = call.functionName;
    self.runtime_error = 0;
    if (self.explained || Recorder::is_special(id)) [[unlikely]]
      special_runtime_call(recorder, self, id, call, frame);
  } else if (runtime_result(call) != 0 || Recorder::is_special(id)) [[unlikely]] {
    special_runtime_call(recorder, self, id, call, frame);
  } else {
    self.runtime_call = nullptr;
  }
}

[[gnu::noinline]] void resource(Recorder& recorder, ThisThread& self, CUpti_CallbackId id,
                                const CUpti_ResourceData& data, std::uintptr_t frame) {
  const Inside inside(self);
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED || id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    const auto* node = static_cast<const CUpti_GraphData*>(data.resourceDescriptor);
    if (node != nullptr) recorder.graph_node(self.state, id, *node);
  } else {
    recorder.resource(self.state, id, data, frame);
  }
}

// Handles callbacks that arrive while the recorder or the Python hook runs. The recorder's own queries about a kernel
// can load the kernel's module. While the hook runs, the garbage collector can destroy streams and contexts of the
// program.
[[gnu::noinline]] void see_on_the_side(Recorder* recorder, ThisThread& self, CUpti_CallbackDomain domain,
                                       CUpti_CallbackId id, const void* data) {
  if (recorder == nullptr) {
    return see_in_child(domain, id, data, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  }
  const bool of_resource = domain == CUPTI_CB_DOMAIN_RESOURCE;
  if (of_resource && id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
    recorder->module_loaded(*static_cast<const CUpti_ResourceData*>(data));
  } else if (!self.inside) {
    if (!self.asked) introduce(*recorder, self);
    const Inside inside(self);
    if (of_resource && Recorder::ends_something(id)) {
      recorder->resource(nullptr, id, *static_cast<const CUpti_ResourceData*>(data), 0);
    } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
      const auto& call = *static_cast<const CUpti_CallbackData*>(data);
      if (call.callbackSite == CUPTI_API_ENTER) recorder->enter_call_on_the_side(id, call);
    }
  }
}

// Handles all callbacks but those of driver calls on a thread that the recorder knows.
[[gnu::noinline]] void other_callback(ThisThread& self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                      const void* data, std::uintptr_t frame) {
  Recorder* recorder = g_home.recorder.load(std::memory_order_acquire);
  if (recorder == nullptr || self.inside || self.quiet) return see_on_the_side(recorder, self, domain, id, data);
  if (!self.asked) introduce(*recorder, self);
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    call.callbackSite == CUPTI_API_ENTER ? enter_driver_call(*recorder, self, id, call, frame)
                                         : leave_driver_call(*recorder, self, id, call, frame);
  } else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    runtime_call(*recorder, self, id, call, frame);
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    resource(*recorder, self, id, *static_cast<const CUpti_ResourceData*>(data), frame);
  }
}

// `known` is the thread's own data, or null. Only jumps to other functions, so that no register must be saved.
void CUPTIAPI callback(void* known, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  ThisThread& self = known != nullptr ? *static_cast<ThisThread*>(known) : this_thread();
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  Recorder* recorder = g_home.recorder.load(std::memory_order_acquire);
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || recorder == nullptr || !self.is_ready()) [[unlikely]] {
    return other_callback(self, domain, id, data, frame);
  }
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  return call.callbackSite == CUPTI_API_ENTER ? enter_driver_call(*recorder, self, id, call, frame)
                                              : leave_driver_call(*recorder, self, id, call, frame);
}

// Returns true if a driver call could block forever. This happens in a signal handler that interrupted a driver call of
// the program. It also happens on the driver's own thread for host functions, which is named "cuda-EvtHandlr" or
// similar.
bool is_inside_driver() {
  if (t_this.asked) return t_this.runtime_call != nullptr || t_this.state == nullptr || is_in_call(*t_this.state);
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  return strncmp(name, "cuda", 4) == 0;
}

void at_exit(int status) {
  Recorder* recorder = g_home.recorder.load(std::memory_order_acquire);
  if (recorder == nullptr) return;
  // exit() may have been called in a signal handler that interrupted the recorder while it held a lock.
  const bool interrupts = std::exchange(t_this.inside, true);
  recorder->at_exit(t_this.state, status,
                    {.may_lock = !interrupts, .may_ask_driver = !interrupts && !is_inside_driver()});
  t_this.inside = false;
}

}  // namespace

constinit thread_local ThisThread t_this = {};

namespace {

// Records that the driver has written a core dump. Returns false if the dump was only requested.
bool note_dump() {
  Recorder* recorder = g_home.recorder.load(std::memory_order_acquire);
  if (recorder == nullptr || !is_own_process() || t_this.inside) return true;
  t_this.inside = true;
  const bool failed = recorder->device_failed();
  t_this.inside = false;
  return failed;
}

// Runs on the driver's thread. The driver may end the process without a call of abort() that is redirected.
void on_dump_complete(void*, int, CUdevice) { note_dump(); }

// Runs instead of abort() on the driver's thread.
void on_driver_abort() {
  // Its GPU work never continues after a requested dump, but whoever requested the dump decides how the process ends.
  while (!note_dump()) pause();
  abort();
}

void on_allocator_refusal(std::uint64_t bytes) {
  Recorder* recorder = g_home.recorder.load(std::memory_order_acquire);
  ThisThread& self = t_this;
  if (recorder == nullptr || self.inside) return;
  if (!self.asked) introduce(*recorder, self);
  const Inside inside(self);
  recorder->allocator_refused(self.state, bytes, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
}

void on_uncaught_refusal(const uncaught_refusal::Refusal& refusal) {
  Recorder* recorder = g_home.recorder.load(std::memory_order_acquire);
  ThisThread& self = t_this;
  if (recorder == nullptr || self.inside) return;
  if (!self.asked) introduce(*recorder, self);
  const Inside inside(self);
  recorder->refusal_uncaught(self.state, refusal);
}

void start_recorder() {
  const Uncancelled uncancelled;
  if (g_started.exchange(true)) return;
  if (!own_this_process()) return leave_unrecorded({What::start, errno});
  if (const int error = pthread_key_create(&g_thread_end, on_thread_end); error != 0) {
    return leave_unrecorded({What::start, error});
  }
  t_this.inside = true;
  Lack lack{};
  Recorder* recorder = make_recorder([](Recorder& made) { return made.start(callback, read_options()); }, lack);
  if (lack.error != 0) leave_unrecorded(lack);
  t_this.inside = false;
  if (recorder == nullptr) return;
  g_recorder = recorder;
  g_pid = static_cast<std::uint32_t>(getpid());
  g_home.recorder.store(recorder, std::memory_order_release);
  recorder->ask_python();
  run_at_exit(at_exit);
  caching_allocator::listen(on_allocator_refusal);
  if (recorder->reads_python_stacks()) uncaught_refusal::listen(on_uncaught_refusal);
  if (recorder->awaits_core_dump()) {
    redirect_abort(on_driver_abort);
    recorder->follow_dumps(on_dump_complete);
  }
}

}  // namespace

// Starts the library that CUDA_INJECTION64_PATH named before the launcher changed it. Must be called before the
// recorder starts, because the recorder uses hooks if that library uses CUPTI. Returns the value that the driver
// expects from InitializeInjection(). A later call does nothing.
int start_earlier_injection() {
  static std::atomic<bool> started;
  const char* path = getenv(wire::environment::kEarlierInjection);
  if (path == nullptr || *path == '\0' || started.exchange(true)) return 1;
  const bool had_cupti = CuptiApi::is_loaded();
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const auto start = library == nullptr ? nullptr : reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  const int result = start == nullptr || start == InitializeInjection ? 1 : start();
  g_tool_loaded_cupti = !had_cupti && CuptiApi::is_loaded();
  return result;
}

bool is_own_process() { return g_home.owned.load(std::memory_order_relaxed); }

bool takes_collectives() { return g_home.recorder.load(std::memory_order_acquire) != nullptr; }

std::uint32_t enter_communicator(const CommunicatorMade& made, bool may_be_known) {
  Recorder* recorder = g_home.recorder.load(std::memory_order_acquire);
  if (recorder == nullptr || t_this.inside) return Collectives::kNone;
  return recorder->communicator(made, may_be_known);
}

void leave_communicator(std::uint32_t communicator) {
  Recorder* recorder = g_home.recorder.load(std::memory_order_acquire);
  if (recorder != nullptr && !t_this.inside) recorder->communicator_finalized(communicator);
}

void enter_collective(const CollectiveCall& call, std::uintptr_t frame) {
  ThisThread& self = t_this;
  Recorder* recorder = g_home.recorder.load(std::memory_order_acquire);
  if (recorder == nullptr || self.inside || self.quiet) return;
  if (!self.asked) introduce(*recorder, self);
  const Inside inside(self);
  recorder->collective(self.state, call, frame);
}

}  // namespace cudadiag::record

// The driver calls this inside cuInit, which fails unless the result is 1. Only a library started by
// start_earlier_injection() can cause a different result.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const int result = cudadiag::record::start_earlier_injection();
  cudadiag::record::start_recorder();
  return result;
}

// The Python hook calls this (graph_memory.py).
extern "C" __attribute__((visibility("default"))) void* cudadiag_graph_words() {
  return cudadiag::record::NodeAddresses::list();
}

// The preloaded library (preload/) calls this once the process has loaded the driver.
extern "C" __attribute__((visibility("default"))) void cudadiag_follow_driver() {
  using namespace cudadiag::record;
  const Uncancelled uncancelled;
  Hooks::redirect_early([] {
    start_earlier_injection();
    start_recorder();
  });
}
