// Finds the site of a call, which identifies its stacks and kernel (wire/site_key.h). Counts the calls of each
// site.
//
// Owns the readers of Python and native stacks. On the launch path, a site comes from the thread's cache. Stacks are
// walked only if the cache does not contain the site.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/callback_source.h"
#include "record/driver_api.h"
#include "record/libc_substitutes.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/id_table.h"
#include "record/output/interner.h"
#include "record/python/hook_loader.h"
#include "record/python/python_stack.h"
#include "record/rerun/window.h"
#include "record/stacks/native_stack.h"
#include "wire/operation.h"

namespace cudadiag::record {

// Finds the intern id of a kernel by the handle that is passed to a launch. The class has one lock.
class KernelIds {
 public:
  void attach(Interner& interner, const DriverApi& driver, const CallbackSource& source);
  // `symbol` is null if CUPTI did not pass it. `unloads` is how many times code has been unloaded so far: a handle may
  // belong to a different kernel after an unload. Returns 0 if the kernel is unknown.
  std::uint32_t id_of(CUfunction kernel, const char* symbol, std::uint64_t unloads);
  // Call this at EXIT of a successful call that may look up a kernel. `parameters` is CUPTI's structure for the call.
  void looked_up(std::uint32_t id, const void* parameters);

 private:
  void learn(const void* kernel, std::uint32_t id);
  const char* symbol_of(CUfunction kernel) const;

  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  const CallbackSource* source_ = nullptr;
  Mutex mutex_;
  IdTable<32768> known_;
};

// An operation's site, and the number of this call at the site. Site 0 means unknown.
struct SiteCall {
  std::uint32_t site = 0, ordinal = 0, function = 0;
  bool checks_its_data = false;  // see Interner::checks_its_data
  bool armed = false;            // true if a rerun must wait for this operation
};

class SiteFinder {
 public:
  // Which stacks are part of a site, and whether cudadiag's Python hook runs in the process.
  struct Stacks {
    bool python, native, hook;
  };
  void attach(AreaMap& area, Interner& interner, KernelIds& kernels, const Window& window, PythonHook& hook);
  void start(Stacks wanted);
  // Call this in a child of fork() instead of start(). Takes over the interpreter that the parent has found.
  void adopt(const SiteFinder& parent);
  void seek_loaded_python() {
    if (wanted_.python && PythonStacks::is_loaded()) seek_python();
  }

  // Call this at ENTER of a call that issues an operation. Counts the call at its site. `id` is the CUPTI callback id.
  // `frame` is the frame address of the recorder's callback.
  [[gnu::hot]] SiteCall enter(ThreadState& thread, std::uint32_t id, wire::operation::Kind kind, CUfunction kernel,
                              const char* symbol, std::uintptr_t frame);

  // Finds a call's stacks and the key of its site, without counting the call.
  struct Place {
    std::uint32_t python, native;
    std::uint64_t key;
    NativeStacks::Recognition recognition;  // of the native stack
  };
  Place place(ThreadState& thread, std::uint32_t id, wire::operation::Kind kind, std::uint32_t function,
              std::uintptr_t frame);
  // Returns the site of a call that issues no operation, without counting the call.
  std::uint32_t site_of(ThreadState& thread, std::uint32_t id, wire::operation::Kind kind, std::uintptr_t frame) {
    return site_at(thread, place(thread, id, kind, 0, frame), kind, 0);
  }
  // Returns the site of an exception. `frames` is its traceback, innermost frame first. Needs the GIL.
  std::uint32_t site_of_traceback(const ThreadState& thread, std::span<const TracedFrame> frames);
  std::uint32_t site_of_launch(ThreadState& thread, std::uint32_t id, CUfunction kernel, const char* symbol,
                               std::uintptr_t frame);
  std::uint32_t site_at(const ThreadState& thread, const Place& place, wire::operation::Kind kind,
                        std::uint32_t function) {
    return interner_->site(place.key, place.python, place.native, function, kind, thread.index);
  }

  // Call this when code is unloaded, because kernel handles may then be reused for different kernels.
  void code_unloaded() { unloads_.fetch_add(1, std::memory_order_relaxed); }
  // Call this on the new thread itself, before its first call is recorded.
  void thread_started(ThreadState& thread, std::uintptr_t frame) const;

 private:
  struct IssuedCall {
    std::uint32_t id;
    wire::operation::Kind kind;
    CUfunction kernel;  // null if the call is not a kernel launch
    const char* symbol;
    std::uintptr_t frame;
  };
  [[gnu::cold, gnu::noinline]] void seek_python();
  bool wants_native() const;
  // Finds and counts the site of a call that the thread's cache does not have. Caches it under `key`, unless that is 0.
  [[gnu::cold, gnu::noinline]] SiteCall enter_new(ThreadState& thread, IssuedCall call, std::uint64_t key);
  bool describe(ThreadState& thread, const IssuedCall& call, SiteCache::Entry& entry);
  SiteCall count(const SiteCache::Entry& entry);
  std::uint32_t count_at(std::uint32_t site);

  // Every launch reads these members, so they are small and adjacent.
  Stacks wanted_{};
  std::atomic<bool> has_python_ = false;
  // Whether the process must still be searched for a Python interpreter. If an interpreter is loaded at start, the
  // search takes place then, so that each thread's first operations have Python stacks. Otherwise, it takes place at
  // the first operation.
  std::atomic<bool> seeks_python_ = false;
  std::atomic<std::uint64_t> unloads_ = 0;  // how many times code was unloaded
  std::byte* counts_ = nullptr;             // the area's region `sites`
  PythonStacks python_;
  NativeStacks native_;
  Interner* interner_ = nullptr;
  const Window* window_ = nullptr;
  PythonHook* hook_ = nullptr;
  AreaMap* area_ = nullptr;
  KernelIds* kernels_ = nullptr;
};

}  // namespace cudadiag::record
