#include "record/calls/blocking_calls.h"

#include <atomic>

#include "record/this_thread.h"
#include "wire/tables.h"

namespace cudadiag::record {

namespace operation = wire::operation;
using operation::Kind;

void BlockingCalls::attach(Interner& interner, SiteFinder& sites, Streams& streams, const CallbackSource& source) {
  interner_ = &interner;
  sites_ = &sites;
  streams_ = &streams;
  source_ = &source;
}

// Stores kCallSite last, so that a reader that sees it also sees the other fields.
void BlockingCalls::enter(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                          std::uintptr_t frame) {
  using wire::thread::Wait;
  std::uint32_t site = rule.role == Role::operation ? thread.open.site : 0;
  if (site == 0) site = sites_->site_of(thread, id, Kind::none, frame);
  Wait wait = Wait::none;
  std::uint32_t stream = operation::kNoStream;
  std::uint64_t event = 0;
  if (rule.role == Role::stream_wait || rule.role == Role::operation) {
    if (rule.role == Role::stream_wait || rule.proves_finished) wait = Wait::stream;
    stream = rule.role == Role::operation ? thread.open.stream : thread.waited_stream;
  } else if (rule.role == Role::event_wait) {
    Call call;
    rule.decode(data.functionParams, call);
    wait = Wait::event;
    event = call.argument;
  } else if (rule.role == Role::context_wait) {
    wait = Wait::context;
  }
  // A reader detects a concurrent change by comparing the site and the ticks of ENTER before and after it copies these
  // fields. The fence makes the ticks visible before the fields.
  std::atomic_thread_fence(std::memory_order_release);
  wire::store(thread.entry, wire::thread::kCallWait, static_cast<std::uint32_t>(wait));
  wire::store(thread.entry, wire::thread::kCallStream, stream);
  wire::store(thread.entry, wire::thread::kCallContext, streams_->context_index(context_waited_for(id, data)));
  wire::store(thread.entry, wire::thread::kCallEvent, event);
  wire::store(thread.entry, wire::thread::kCallName, interner_->string(data.functionName));
  wire::store(thread.entry, wire::thread::kCallOuter,
              t_this.runtime_call == nullptr ? 0 : interner_->string(t_this.runtime_call));
  wire::store_release(thread.entry, wire::thread::kCallSite, site);
}

std::uint32_t BlockingCalls::context_waited_for(std::uint32_t id, const CUpti_CallbackData& data) const {
  if (id != CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2) return data.contextUid;
  const CUcontext named = static_cast<const cuCtxSynchronize_v2_params*>(data.functionParams)->ctx;
  return named == nullptr || named == data.context ? data.contextUid : source_->context_uid(named);
}

}  // namespace cudadiag::record
