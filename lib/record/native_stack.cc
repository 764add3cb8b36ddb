#include "record/native_stack.h"

#include <array>

#include "record/memory_map.h"
#include "record/scratch.h"
#include "wire/hash.h"

namespace cudadiag::record {

using wire::hash_bytes;
using wire::kHashSeed;
using wire::mix;

namespace {

constexpr std::uint32_t kHopeless = 4096;  // misses in a row after which a set's calls are not unwound any more

bool find_stack(std::uintptr_t inside, StackShapes& shapes) {
  if (inside >= shapes.low && inside < shapes.high) return true;
  MemoryMap map;
  MemoryRange range;
  while (map.next(range)) {
    if (inside < range.begin || inside >= range.end) continue;
    shapes.low = range.begin;
    shapes.high = range.end;
    return true;
  }
  return false;
}

std::uint64_t word_at(std::uintptr_t stack_pointer, std::uint32_t offset) {
  return *reinterpret_cast<const std::uint64_t*>(stack_pointer + offset);
}

// Whether the stack that was seen here last stands here again: no chain of dependent steps, as a hash would be.
bool same_as_last(const StackShape& shape, std::uintptr_t stack_pointer) {
  std::uint64_t differences = 0;
  for (std::size_t i = 0; i < shape.frames; ++i) {
    differences |= word_at(stack_pointer, shape.offsets[i]) ^ shape.words[i];
  }
  return differences == 0;
}

// As hash_frames for the stack that would have its return addresses at these places.
std::uint64_t hash_slots(StackShape& shape, std::uintptr_t stack_pointer) {
  std::uint64_t hash = mix(kHashSeed, shape.frames);
  for (std::size_t i = 0; i < shape.frames; ++i) {
    shape.words[i] = word_at(stack_pointer, shape.offsets[i]);
    hash = mix(hash, shape.words[i]);
  }
  return hash;
}

std::uint64_t hash_frames(std::span<const UnwoundFrame> frames) {
  std::uint64_t hash = mix(kHashSeed, frames.size());
  for (const UnwoundFrame& frame : frames) hash = mix(hash, frame.return_address);
  return hash;
}

}  // namespace

void NativeStacks::start(Interner& interner) {
  interner_ = &interner;
  Modules::start();
}

void NativeStacks::stop_at(std::uintptr_t begin, std::uintptr_t end) {
  LoadedModule module;
  if (begin != 0 && Modules::find(begin, module)) begin = module.begin, end = module.end;
  stop_begin_ = begin;
  stop_end_ = end;
}

std::uint32_t NativeStacks::current(ThreadState& thread, std::uintptr_t stack_pointer, std::uint64_t salt) {
  StackShapes& shapes = thread.shapes;
  if (!find_stack(stack_pointer, shapes)) return 0;
  const std::uint64_t key = mix(mix(kHashSeed, stack_pointer), salt) | 1;
  StackShapes::Set& set = shapes.sets[key / 2 % StackShapes::kSets];
  StackShape* victim = nullptr;
  for (StackShape& shape : set.shapes) {
    if (shape.key != key) {
      if (victim == nullptr || shape.key == 0) victim = &shape;
      continue;
    }
    if (shape.frames > 0 && stack_pointer + shape.offsets[shape.frames - 1] + 8 > shapes.high) continue;
    if (shape.stack != 0 && same_as_last(shape, stack_pointer)) return shape.stack;
    shape.stack = interner_->find_native_stack(hash_slots(shape, stack_pointer));
    if (shape.stack == 0) continue;
    set.misses = 0;
    return shape.stack;
  }
  if (++set.misses > kHopeless) return 0;
  if (victim == nullptr) victim = &set.shapes[set.misses % StackShapes::kWays];
  victim->key = key;
  return unwind(stack_pointer, victim);
}

std::uint32_t NativeStacks::unwind(std::uintptr_t stack_pointer, StackShape* learn) {
  std::array<UnwoundFrame, StackShape::kFrames> all;
  bool truncated = false;
  const std::size_t count = record::unwind(stack_pointer, stop_begin_, stop_end_, all, truncated);
  const std::span<const UnwoundFrame> frames(all.data(), count);
  learn->frames = static_cast<std::uint16_t>(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    learn->offsets[i] = static_cast<std::uint32_t>(frames[i].slot - stack_pointer);
    learn->words[i] = frames[i].return_address;
  }
  learn->stack = frames.empty() ? 0 : intern(frames, hash_frames(frames), truncated);
  return learn->stack;
}

// A library that is closed and another one at its place differ in their build-ids, or end elsewhere.
std::uint32_t NativeStacks::intern_module(const LoadedModule& module) {
  const std::uint64_t key =
      mix(mix(module.begin, module.end),
          hash_bytes(reinterpret_cast<const char*>(module.build_id.data()), module.build_id.size()));
  if (const std::uint32_t id = interner_->find_module(key)) return id;
  const Scratch<std::array<char, PATH_MAX>> path;
  if (!path) return 0;
  return interner_->module(key, {module.bias, module.begin, module.end, Modules::path(module, *path), module.build_id});
}

std::uint32_t NativeStacks::intern(std::span<const UnwoundFrame> frames, std::uint64_t key, bool truncated) {
  if (const std::uint32_t id = interner_->find_native_stack(key)) return id;
  std::array<NativeFrame, StackShape::kFrames> interned;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    LoadedModule module;
    interned[i] = {0, 0, frames[i].return_address};
    if (!Modules::find(frames[i].return_address - 1, module)) continue;
    interned[i].module = intern_module(module);
    if (interned[i].module != 0) interned[i].address -= module.bias;
  }
  return interner_->native_stack(key, {interned.data(), frames.size()}, truncated);
}

}  // namespace cudadiag::record
