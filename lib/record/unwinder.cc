#include "record/unwinder.h"

#include <unwind.h>

namespace cudadiag::record {

namespace {

struct Trace {
  std::uintptr_t stack_pointer, stop_begin, stop_end;
  std::span<UnwoundFrame> frames;
  std::size_t count = 0;
  bool truncated = false;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
  auto& trace = *static_cast<Trace*>(argument);
  const std::uintptr_t address = _Unwind_GetIP(context);
  // libgcc's CFA of a caller is its stack pointer after the return; on x86-64 the address was just below it.
  const std::uintptr_t slot = _Unwind_GetCFA(context) - sizeof(void*);
  if (address == 0 || (address >= trace.stop_begin && address < trace.stop_end)) return _URC_NORMAL_STOP;
  if (slot < trace.stack_pointer) return _URC_NO_REASON;
  if (trace.count == trace.frames.size()) {
    trace.truncated = true;
    return _URC_NORMAL_STOP;
  }
  trace.frames[trace.count++] = {address, slot};
  return _URC_NO_REASON;
}

}  // namespace

std::size_t unwind(std::uintptr_t stack_pointer, std::uintptr_t stop_begin, std::uintptr_t stop_end,
                   std::span<UnwoundFrame> frames, bool& truncated) {
  Trace trace = {stack_pointer, stop_begin, stop_end, frames};
  _Unwind_Backtrace(add_frame, &trace);
  truncated = trace.truncated;
  return trace.count;
}

}  // namespace cudadiag::record

// What libgcc's unwinder asks for a frame's tables. Ours is bound at link time and stays hidden.
extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(void* address,
                                                                     cudadiag::record::FoundObject* found) {
  return cudadiag::record::Modules::find_object(address, *found) ? 0 : -1;
}
