#include "record/process/forks.h"

#include <errno.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "record/guest.h"
#include "record/output/unrecorded.h"
#include "record/recorder.h"
#include "record/this_thread.h"

namespace cudadiag::record {

namespace {

forks::Origin g_origin;             // set in a forked child of a process that uses CUDA; otherwise, `parent` is null
std::atomic<bool> g_tried;          // whether the process has tried to create its recorder
std::atomic<Recorder*> g_in_child;  // null if there is none yet, or if it could not be created

void make_recorder() {
  const bool has_room = may_take_address_space(sizeof(Recorder) + wire::area::kAreaSize);
  if (!has_room || !may_take_data(sizeof(Recorder))) return;
  void* memory =
      mmap(nullptr, sizeof(Recorder), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  auto* recorder = new (memory) Recorder;
  if (recorder->start_in_child(g_origin)) {
    g_in_child.store(recorder, std::memory_order_release);
  } else {
    munmap(memory, sizeof(Recorder));
  }
}

std::uint32_t result_of(CUpti_CallbackDomain domain, const CUpti_CallbackData& call) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) return runtime_result(call);
  const auto* returned = static_cast<const CUresult*>(call.functionReturnValue);
  return returned == nullptr ? 0 : static_cast<std::uint32_t>(*returned);
}

void record_refused(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call,
                    std::uintptr_t frame) {
  const Uncancelled uncancelled;
  if (!g_tried.exchange(true)) make_recorder();
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

}  // namespace

void forks::begin_child(const Origin& origin) {
  // If the parent of this process is itself a forked child, keeps the parent's origin, which is the process that used
  // CUDA.
  if (g_origin.parent == nullptr) g_origin = origin;
  g_tried.store(false);
  g_in_child.store(nullptr);
}

void forks::see(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data, std::uintptr_t frame) {
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (g_origin.parent == nullptr || t_this.inside || (!runtime && domain != CUPTI_CB_DOMAIN_DRIVER_API)) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER) {
    if (runtime) t_this.runtime_call = call.functionName, t_this.runtime_error = 0;
    return;
  }
  if (result_of(domain, call) == forks::kRefused) {
    const int error = errno;
    t_this.inside = true;
    record_refused(domain, id, call, frame);
    t_this.inside = false;
    errno = error;
  }
  if (runtime) t_this.runtime_call = nullptr;
}

}  // namespace cudadiag::record
