#include "record/stacks/native_stack.h"

#include <algorithm>
#include <array>

#include "record/libc_substitutes.h"
#include "wire/hash.h"

namespace cudadiag::record {

using wire::hash_bytes;
using wire::kHashSeed;
using wire::mix;

namespace {

// after this many consecutive misses in a set, the stacks of that set are not unwound again
constexpr std::uint32_t kHopeless = 4096;

// Computes a polynomial sum of a stack's return addresses, innermost first. Computes four polynomials in parallel,
// because in a single one, each multiplication depends on the previous one. Calls `address` a multiple of kSums times.
constexpr std::size_t kSums = 4;
static_assert(StackShape::kFrames % kSums == 0);

template <typename Address>
std::uint64_t sum_addresses(std::size_t count, Address address) {
  std::uint64_t a = count, b = 0, c = 0, d = 0;
  for (std::size_t i = 0; i < count; i += kSums) {
    a = a * wire::kSumFactor + address(i);
    b = b * wire::kSumFactor + address(i + 1);
    c = c * wire::kSumFactor + address(i + 2);
    d = d * wire::kSumFactor + address(i + 3);
  }
  return wire::sum_of(a, b, c, d);
}

// Returns true if every slot of the shape is readable. A coroutine's current stack may be too small to contain all of
// them.
[[gnu::noinline]] bool reaches(const StackShape& shape, std::uintptr_t stack_pointer) {
  constexpr std::uintptr_t kPage = 4096;  // the smallest page size
  std::uintptr_t page = stack_pointer / kPage;
  for (const std::uint32_t offset : std::span(shape.offsets).first(shape.frames)) {
    const std::uintptr_t slot = stack_pointer + offset;
    if (slot / kPage != page && !is_readable(slot)) return false;
    page = slot / kPage;
  }
  return true;
}

// Returns the sum of the return addresses at the positions of the shape. Returns 0 unless all positions are on the
// thread's newest stack, which contains the stack pointer.
[[gnu::hot]] std::uint64_t sum_at(const StackShape& shape, ThreadState& thread, std::uintptr_t stack_pointer) {
  if (stack_pointer + shape.bytes > thread.stack.high) return 0;
  if (!thread.on_own_stack && !reaches(shape, stack_pointer)) [[unlikely]] {
    forget_stack(thread, stack_pointer);
    return 0;
  }
  return sum_addresses(shape.frames,
                       [&](std::size_t i) { return return_address_at(stack_pointer + shape.offsets[i]); });
}

// The key of a stack in the interner.
std::uint64_t key_of(std::uint64_t sum) { return mix(kHashSeed, sum); }

}  // namespace

void NativeStacks::start(Interner& interner, std::atomic<std::uint64_t>& unloads) {
  Modules::start();
  attach(interner, unloads);
}

void NativeStacks::attach(Interner& interner, std::atomic<std::uint64_t>& unloads) {
  interner_ = &interner;
  unloads_ = &unloads;
  opened_.start();
}

void NativeStacks::stop_at(std::uintptr_t begin, std::uintptr_t end) {
  LoadedModule module;
  if (begin != 0 && Modules::find(begin, module)) begin = module.begin, end = module.end;
  stop_begin_ = begin;
  stop_end_ = end;
}

bool NativeStacks::still_matches(const SiteCache::Entry& entry, ThreadState& thread, std::uintptr_t stack_pointer) {
  const StackShape& shape = thread.shapes.shapes[entry.shape];
  return static_cast<std::uint32_t>(shape.key) == entry.shape_key &&
         (thread.stack.has(stack_pointer) || change_stack(thread, stack_pointer)) &&
         sum_at(shape, thread, stack_pointer) == entry.addresses && (entry.opened == 0 || !has_gone(entry.opened));
}

std::uint32_t NativeStacks::current(ThreadState& thread, std::uintptr_t stack_pointer, std::uint64_t salt, bool python,
                                    bool closes, Recognition& recognition) {
  StackShapes& shapes = thread.shapes;
  if (!thread.stack.has(stack_pointer) && !change_stack(thread, stack_pointer)) return 0;
  const std::uint64_t key = mix(mix(kHashSeed, stack_pointer), salt << 1 | (python ? 1 : 0)) | 1;
  const std::size_t set = key / 2 % StackShapes::kSets;
  StackShape* ways = &shapes.shapes[set * StackShapes::kWays];
  StackShape* victim = nullptr;
  for (StackShape* shape = ways; shape != ways + StackShapes::kWays; ++shape) {
    if (shape->key != key) {
      if (victim == nullptr || shape->key == 0) victim = shape;
      continue;
    }
    const std::uint64_t addresses = sum_at(*shape, thread, stack_pointer);
    const StampedId stack = addresses == 0 ? StampedId{} : interner_->find_native_stack(key_of(addresses));
    if (stack.id == 0) continue;
    shapes.misses[set] = 0;
    recognition = {shape, addresses, closes ? opened_.in(*shape, stack_pointer) : std::uint8_t{0}};
    if (stack.stamp == unloads() && (recognition.opened == 0 || !has_gone(recognition.opened))) return stack.id;
    victim = shape;
    break;
  }
  if (++shapes.misses[set] > kHopeless) return 0;
  if (victim == nullptr) victim = &ways[shapes.misses[set] % StackShapes::kWays];
  const std::uint32_t stack = unwind(stack_pointer, *victim, key, python, recognition);
  if (closes && recognition.shape != nullptr) recognition.opened = opened_.in(*recognition.shape, stack_pointer);
  // If the outermost return address is beyond the known end of the stack, the stack has been replaced by a larger one.
  if (stack != 0 && stack_pointer + victim->bytes > thread.stack.high) forget_stack(thread, stack_pointer);
  return stack;
}

std::uint32_t NativeStacks::unwind(std::uintptr_t stack_pointer, StackShape& learn, std::uint64_t key, bool python,
                                   Recognition& recognition) {
  recognition = {};
  std::array<UnwoundFrame, StackShape::kFrames> all;
  bool truncated = false;
  const std::size_t count =
      record::unwind(stack_pointer, python ? stop_begin_ : 0, python ? stop_end_ : 0, all, truncated);
  const std::span<const UnwoundFrame> frames(all.data(), count);
  if (frames.empty()) return 0;
  // sum_addresses() reads up to a multiple of kSums, so positions past the outermost frame repeat this frame.
  const auto frame = [&](std::size_t i) -> const UnwoundFrame& { return frames[std::min(i, frames.size() - 1)]; };
  const std::uint64_t addresses = sum_addresses(frames.size(), [&](std::size_t i) { return frame(i).return_address; });
  const std::uint32_t stack = intern(frames, addresses, truncated);
  if (stack == 0) return 0;
  learn.key = key;
  learn.frames = static_cast<std::uint32_t>(frames.size());
  learn.bytes = static_cast<std::uint32_t>(frames.back().slot + sizeof frames.back().slot - stack_pointer);
  for (std::size_t i = 0; i < learn.offsets.size(); ++i) {
    learn.offsets[i] = static_cast<std::uint32_t>(frame(i).slot - stack_pointer);
  }
  recognition = {&learn, addresses, 0};
  return stack;
}

bool NativeStacks::has_gone(std::uint8_t opened) {
  if (opened_.is_still_there(opened)) return false;
  unloads_->fetch_add(1, std::memory_order_relaxed);
  opened_.forget();
  return true;
}

std::uint32_t NativeStacks::intern_module(const LoadedModule& module) {
  const std::uint64_t key = Modules::identity(module);
  opened_.met(module, key);
  if (const std::uint32_t id = interner_->find_module(key)) return id;
  const Scratch<std::array<char, PATH_MAX>> path;
  if (!path) return 0;
  return interner_->module(key, {module.bias, module.begin, module.end, Modules::path(module, *path), module.build_id});
}

std::uint32_t NativeStacks::intern(std::span<const UnwoundFrame> frames, std::uint64_t addresses, bool truncated) {
  const std::uint32_t stamp = unloads();
  const std::uint64_t key = key_of(addresses);
  if (const StampedId known = interner_->find_native_stack(key); known.id != 0 && known.stamp == stamp) {
    return known.id;
  }
  std::array<NativeFrame, StackShape::kFrames> interned;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    LoadedModule module;
    interned[i] = {0, 0, frames[i].return_address};
    if (!Modules::find(frames[i].return_address - 1, module)) continue;
    interned[i].module = intern_module(module);
    if (interned[i].module != 0) interned[i].address -= module.bias;
  }
  return interner_->native_stack(key, stamp, {interned.data(), frames.size()}, truncated);
}

}  // namespace cudadiag::record
