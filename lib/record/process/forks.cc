#include "record/process/forks.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "record/output/unrecorded.h"
#include "record/recorder.h"
#include "record/this_thread.h"
#include "record/uncancelled.h"

namespace cudadiag::record {

namespace {

forks::Origin g_origin;                // of this process; no parent: it is no such child
std::atomic<bool> g_tried;             // to make its recorder
std::atomic<Recorder*> g_in_child;     // null: none yet, or none could be made
constexpr std::uint32_t kRefused = 3;  // CUDA_ERROR_NOT_INITIALIZED, cudaErrorInitializationError

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
  // A child of such a child: it is the first parent that has used CUDA.
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
  if (result_of(domain, call) == kRefused) {
    const int error = errno;
    t_this.inside = true;
    record_refused(domain, id, call, frame);
    t_this.inside = false;
    errno = error;
  }
  if (runtime) t_this.runtime_call = nullptr;
}

// ---- the recorder's part

std::uint32_t Recorder::note_fork(ThreadState& thread, std::uintptr_t frame) {
  constexpr std::uint32_t kNoCall = 0;
  const Place at = place(thread, kNoCall, wire::operation::Kind::none, 0, frame);
  const std::uint32_t site = interner_.site(at.key, at.python, at.native, 0, wire::operation::Kind::none, thread.index);
  char text[16];
  snprintf(text, sizeof text, "%u", site);
  interner_.property("forked_at", text);
  return site;
}

bool Recorder::start_in_child(const forks::Origin& origin) {
  const Recorder& parent = *origin.parent;
  options_.python = parent.options_.python;
  options_.native = parent.options_.native;
  if (!area_.open()) return false;
  interner_.attach(area_);
  threads_.attach(area_);
  failures_.attach(area_, interner_, streams_);
  driver_ = parent.driver_;
  streams_.attach(area_, interner_, driver_, MarkerMode::off);
  native_.attach(interner_, function_generation_);
  python_sought_ = true;
  const bool has_python = parent.has_python_.load(std::memory_order_acquire);
  if (has_python) python_.adopt(parent.python_, interner_, hook_);
  if (has_python && options_.native) native_.stop_at(python_.interpreter(), python_.interpreter() + 1);
  has_python_.store(has_python, std::memory_order_release);
  describe_process();
  char text[32];
  snprintf(text, sizeof text, "%u %u", origin.pid, origin.site);
  interner_.property("forked_from", text);
  return true;
}

void Recorder::refused_in_child(ThreadState* thread, std::uint32_t id, const CUpti_CallbackData& data,
                                std::uintptr_t frame) {
  fail(thread, wire::error::Domain::driver, id, data, kRefused, frame);
}

}  // namespace cudadiag::record
