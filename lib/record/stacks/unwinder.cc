#include "record/stacks/unwinder.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <unwind.h>

#include <algorithm>

#include "record/libc_substitutes.h"

namespace cudadiag::record {

namespace {

// If a frame has no unwind tables, libgcc reads the code at the return address, to see whether it is a signal return.
// However, a coroutine's first frame may return to any address, even an unreadable one. For unreadable addresses,
// find_tables() therefore returns these tables. They describe one function without unwind instructions, which covers
// all addresses except the one just below its beginning.
constexpr std::uint64_t kNowhere = std::uint64_t{1} << 63;
struct TablesOfNowhere {
  // pcrel | sdata4; omitted; omitted
  std::uint8_t version = 1, frames_encoding = 0x1b, count_encoding = 0xff, table_encoding = 0xff;
  std::int32_t frames = 4;  // offset from here
  struct {
    std::uint32_t length = 12, id = 0;
    std::uint8_t version = 1, augmentation = 0, code_factor = 1, data_factor = 1, return_column = 0, nothing[3] = {};
  } common;
  std::uint32_t length = 20, common_before = 20;
  std::uint64_t begin = kNowhere, size = ~std::uint64_t{0};
  std::uint32_t end = 0;
};
static_assert(offsetof(TablesOfNowhere, common) == 8 && offsetof(TablesOfNowhere, common_before) == 8 + 20 &&
                  offsetof(TablesOfNowhere, begin) == 32 && offsetof(TablesOfNowhere, end) == 24 + 4 + 20,
              "as libgcc reads it");
constexpr TablesOfNowhere kTablesOfNowhere;

// Returns true if libgcc can read the code at a return address. `address` is just before that code, or inside it.
bool can_be_code(std::uintptr_t address) { return is_readable(address) && is_readable(address + 2); }

// Finds the stack positions of the return addresses, during one unwinding. libgcc's CFA of a frame is the stack pointer
// after the return into that frame.
class ReturnSlots {
 public:
  // Must be called for each frame in turn. `address` is the return address into the frame.
  std::uintptr_t next(_Unwind_Context* context, std::uintptr_t address) {
    const std::uintptr_t end = _Unwind_GetCFA(context);
#if defined(__x86_64__)
    // The call instruction has stored the address directly below the CFA.
    (void)address;
    return end - sizeof(address);
#else
    // The called function stored the address somewhere in its own frame. This is usually the frame record that its x29
    // pointed to, but some functions keep no frame record. If the address is not found, the result is a slot that never
    // matches.
    const std::uintptr_t begin = callee_stack_pointer_, record = callee_frame_pointer_ + sizeof(address);
    callee_stack_pointer_ = end;
    callee_frame_pointer_ = _Unwind_GetGR(context, kFramePointer);
    const auto has_it = [&](std::uintptr_t slot) {
      return slot % sizeof(slot) == 0 && return_address_at(slot) == address;
    };
    if (begin == 0) return end - sizeof(address);  // the first frame, which called the unwinder
    if (record >= begin && record < end && has_it(record)) return record;
    if (end - begin > kMostSearched) return end - sizeof(address);
    for (std::uintptr_t slot = begin; slot + sizeof(slot) <= end; slot += sizeof(slot)) {
      if (has_it(slot)) return slot;
    }
    return end - sizeof(address);
#endif
  }

 private:
#if !defined(__x86_64__)
  static constexpr int kFramePointer = 29;
  static constexpr std::uintptr_t kMostSearched = 1 << 16;
  std::uintptr_t callee_stack_pointer_ = 0, callee_frame_pointer_ = 0;
#endif
};

struct Trace {
  std::uintptr_t stack_pointer, stop_begin, stop_end;
  std::span<UnwoundFrame> frames;
  std::size_t count = 0;
  bool truncated = false;
  ReturnSlots slots{};
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
  auto& trace = *static_cast<Trace*>(argument);
  const std::uintptr_t address = _Unwind_GetIP(context);
  const std::uintptr_t slot = trace.slots.next(context, address);
  if (_Unwind_GetRegionStart(context) == kNowhere) return _URC_NORMAL_STOP;
  if (address == 0 || (address >= trace.stop_begin && address < trace.stop_end)) return _URC_NORMAL_STOP;
  if (slot < trace.stack_pointer) return _URC_NO_REASON;
  if (trace.count == trace.frames.size()) {
    trace.truncated = true;
    return _URC_NORMAL_STOP;
  }
  trace.frames[trace.count++] = {address, slot};
  return _URC_NO_REASON;
}

bool find_tables(void* address, FoundObject& found) {
  if (Modules::find_object(address, found)) return true;
  if (can_be_code(reinterpret_cast<std::uintptr_t>(address))) return false;
  found = {};
  found.eh_frame = const_cast<TablesOfNowhere*>(&kTablesOfNowhere);
  return true;
}

}  // namespace

std::size_t unwind(std::uintptr_t stack_pointer, std::uintptr_t stop_begin, std::uintptr_t stop_end,
                   std::span<UnwoundFrame> frames, bool& truncated) {
  Trace trace = {stack_pointer, stop_begin, stop_end, frames};
  _Unwind_Backtrace(add_frame, &trace);
  truncated = trace.truncated;
  return trace.count;
}

namespace {

// Extends the range to where the main thread's stack may grow. The kernel places no new mappings there. It places
// mappings from the top down, so the mappings just below have existed since the program started.
StackRange with_room_to_grow(StackRange stack, std::uintptr_t end_below) {
  constexpr std::uintptr_t kGap = 1 << 20;     // the kernel normally leaves this gap below
  constexpr std::uintptr_t kMost = 256 << 20;  // limit for the size of the stack
  const std::uintptr_t lowest = std::max(end_below + kGap, stack.high - std::min(stack.high, kMost));
  return {std::min(stack.low, lowest), stack.high};
}

}  // namespace

bool find_stack(std::uintptr_t inside, StackRange& stack) {
  MemoryMap map;
  MemoryRange range;
  for (std::uintptr_t end_below = 0; map.next(range); end_below = range.end) {
    if (inside < range.begin || inside >= range.end) continue;
    stack = {range.begin, range.end};
    if (stack.has(getauxval(AT_RANDOM))) stack = with_room_to_grow(stack, end_below);
    return true;
  }
  return false;
}

bool is_own_stack(StackRange& stack, std::uintptr_t stack_pointer) {
  if (stack.has(getauxval(AT_RANDOM))) return true;
  const auto data = reinterpret_cast<std::uintptr_t>(reinterpret_cast<void*>(pthread_self()));
  if (!stack.has(data) || stack_pointer >= data) return false;
  stack.high = data;
  return true;
}

}  // namespace cudadiag::record
// libgcc's unwinder calls this function to find a frame's tables. The call is bound to this definition at link time,
// and the symbol stays hidden.
extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(void* address,
                                                                     cudadiag::record::FoundObject* found) {
  return cudadiag::record::find_tables(address, *found) ? 0 : -1;
}
