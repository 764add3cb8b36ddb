// Publishes the call in which a thread may wait for the GPU: a process that is stuck in it cannot be asked.
#include "record/recorder.h"
#include "record/this_thread.h"
#include "wire/thread.h"

namespace cudadiag::record {

namespace operation = wire::operation;
using operation::Kind;

// For whoever reads the area while the call blocks. The site goes last: it says that the rest is there.
void Recorder::show_call(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                         std::uintptr_t frame) {
  using wire::thread::Wait;
  std::uint32_t site = rule.role == Role::operation ? thread.open.site : 0;
  if (site == 0) {
    const Place at = place(thread, id, Kind::none, 0, frame);
    site = interner_.site(at.key, at.python, at.native, 0, Kind::none, thread.index);
  }
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
  wire::store(thread.entry, wire::thread::kCallWait, static_cast<std::uint32_t>(wait));
  wire::store(thread.entry, wire::thread::kCallStream, stream);
  wire::store(thread.entry, wire::thread::kCallContext, streams_.context_index(context_waited_for(id, data)));
  wire::store(thread.entry, wire::thread::kCallEvent, event);
  wire::store(thread.entry, wire::thread::kCallName, interner_.string(data.functionName));
  wire::store(thread.entry, wire::thread::kCallOuter,
              t_this.runtime_call == nullptr ? 0 : interner_.string(t_this.runtime_call));
  wire::store_release(thread.entry, wire::thread::kCallSite, site);
}

}  // namespace cudadiag::record
