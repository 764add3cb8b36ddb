// The one exported symbol, and what ties the recorder to the life of the process: threads' ends, fork, exit.

#include <cupti.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "record/driver_log.h"
#include "record/recorder.h"
#include "record/this_thread.h"
#include "record/uncancelled.h"
#include "wire/environment.h"

namespace cudadiag::record {

namespace {

std::atomic<Recorder*> g_recorder;
pthread_key_t g_thread_end;
// A page that reads as zero in a child of fork or clone: the recorder belongs to the process that wrote it.
const volatile char* g_owned;

Options read_options() {
  Options options;
  if (const char* window = getenv(wire::environment::kWindow)) options.window = window;
  const char* pass = getenv(wire::environment::kPass);
  // In the first run only where the user watches a line.
  options.hook = (pass != nullptr && strcmp(pass, "confirm") == 0) || getenv(wire::environment::kValues) != nullptr;
  const char* text = getenv(wire::environment::kRecord);
  if (text == nullptr) return options;
  if (strstr(text, "markers=off") != nullptr) options.markers = MarkerMode::off;
  if (strstr(text, "markers=dense") != nullptr) options.markers = MarkerMode::dense;
  options.python = strstr(text, "python=off") == nullptr;
  options.native = strstr(text, "native=off") == nullptr;
  options.folder = getenv(wire::environment::kSession);
  options.races = strstr(text, "races=on") != nullptr;
  return options;
}

void on_thread_end(void* state) {
  Recorder* recorder = g_recorder.load(std::memory_order_acquire);
  t_this.inside = true;
  // In a forked child the entry is the parent's.
  if (recorder != nullptr && *g_owned != 0 && t_this.state == state)
    recorder->release_thread(*static_cast<ThreadState*>(state));
  t_this = {nullptr, nullptr, true, false, false, false, false, 0, 0};
}

ThreadState* thread_state(Recorder& recorder, ThisThread& self) {
  if (!self.asked) {
    self.asked = true;
    self.state = recorder.acquire_thread();
    if (self.state != nullptr) pthread_setspecific(g_thread_end, self.state);
  }
  return self.state;
}

[[gnu::hot]] void CUPTIAPI callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

// Fresh zero pages, taken as they are touched: the recorder's tables are large and mostly empty.
Recorder* make_recorder() {
  void* memory =
      mmap(nullptr, sizeof(Recorder), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* recorder = new (memory) Recorder;
  if (recorder->start(callback, read_options())) return recorder;
  munmap(memory, sizeof(Recorder));
  return nullptr;
}

void disown() { *const_cast<volatile char*>(g_owned) = 0; }

bool own_this_process() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  // Where the kernel does not wipe it (before Linux 4.14, in some sandboxes) libc's fork does; a child that is made by
  // clone or _Fork then takes the record for its own.
  if (madvise(page, 4096, MADV_WIPEONFORK) != 0 && pthread_atfork(nullptr, nullptr, disown) != 0) {
    munmap(page, 4096);
    return false;
  }
  *static_cast<char*>(page) = 1;
  g_owned = static_cast<const char*>(page);
  return true;
}

void CUPTIAPI callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  ThisThread* found = &t_this;
  asm("" : "+r"(found));  // looked for once: each time would be a call
  ThisThread& self = *found;
  if (self.quiet || *g_owned == 0) return;
  Recorder* recorder = g_recorder.load(std::memory_order_acquire);
  if (recorder == nullptr) return;
  if (self.inside) {
    // Our own questions about a kernel can be what loads its module.
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
      recorder->module_loaded(*static_cast<const CUpti_ResourceData*>(data));
    }
    return;
  }
  if (self.error_number == nullptr) self.error_number = &errno;
  const int saved_errno = *self.error_number;
  self.inside = true;
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (self.told && call.callbackSite == CUPTI_API_ENTER) driver_log::forget();
    recorder->driver_call(thread_state(*recorder, self), id, call, frame);
  } else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (self.told && call.callbackSite == CUPTI_API_ENTER) driver_log::forget();
    recorder->runtime_call(thread_state(*recorder, self), id, call, frame);
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED || id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
      const auto* node = static_cast<const CUpti_GraphData*>(resource.resourceDescriptor);
      if (node != nullptr) recorder->graph_node(thread_state(*recorder, self), id, *node);
    } else {
      recorder->resource(thread_state(*recorder, self), id, resource, frame);
    }
  }
  self.inside = false;
  *self.error_number = saved_errno;
}

void at_exit(int status, void*) {
  Recorder* recorder = g_recorder.load(std::memory_order_acquire);
  if (recorder == nullptr || *g_owned == 0) return;
  t_this.inside = true;
  recorder->look_at_exit(status);
  t_this.inside = false;
}

}  // namespace

constinit thread_local ThisThread t_this = {};

bool is_own_process() { return g_owned != nullptr && *g_owned != 0; }

}  // namespace cudadiag::record

// Called by the driver inside cuInit. 1: loaded; anything else would make cuInit fail, so it is never returned.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace cudadiag::record;
  const Uncancelled uncancelled;
  if (g_recorder.load() != nullptr || !own_this_process()) return 1;
  if (pthread_key_create(&g_thread_end, on_thread_end) != 0) return 1;
  t_this.inside = true;
  Recorder* recorder = make_recorder();
  t_this.inside = false;
  if (recorder == nullptr) return 1;
  g_recorder.store(recorder, std::memory_order_release);
  recorder->ask_python();
  on_exit(at_exit, nullptr);
  return 1;
}
