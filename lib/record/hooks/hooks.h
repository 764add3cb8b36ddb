// Watches calls without CUPTI. The driver's entry points are redirected to wrappers (redirection.h, wrapper.h),
// which report each call to the recorder in CUPTI's terms. This class also finds out what CUPTI reports
// besides calls: contexts and their numbers, loaded code, graph nodes, and the ends of contexts, streams and modules.
//
// Hooks see only calls through exported functions. They miss calls through the driver's export tables: for example, a
// statically linked runtime resets its device that way. They also miss errors that a runtime does not pass on, and code
// that the driver compiles from text (PTX). Finally, they miss calls through addresses on the heap that the program
// looked up before the redirection.
#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "record/driver_api.h"
#include "record/hooks/redirection.h"
#include "record/libc_substitutes.h"

namespace cudadiag::record {

struct Call;
struct ThisThread;

class Hooks {
 public:
  // Redirects the driver unless that has already been done, and then calls `callback` for everything that is enabled.
  // The process has only one Hooks object, which is never destroyed.
  Redirection start(CUpti_CallbackFunc callback, const DriverApi& driver);
  // Redirects the driver as soon as it is loaded. Calls `initialised` once the first cuInit has succeeded.
  static Redirection redirect_early(void (*initialised)());
  void enable(CUpti_CallbackDomain domain, std::uint32_t id);
  std::string_view call_name(CUpti_CallbackDomain domain, std::uint32_t id) const;
  std::uint32_t context_uid(CUcontext context) const;

 private:
  friend class Passage;
  static constexpr std::size_t kContexts = 64;

  // Returns the calling thread's context and its number, or null and 0 if it has none.
  std::pair<CUcontext, std::uint32_t> current(ThisThread& self);
  std::uint32_t number_of(CUcontext context);
  [[gnu::cold, gnu::noinline]] void meet(CUcontext context, std::uint32_t uid);
  void context_ends(CUcontext context);
  void tell(std::uint32_t id, CUcontext context, CUstream stream, const void* descriptor);
  void code_loaded(std::uint32_t id, const CUpti_CallbackData& data);
  void report_node(std::uint32_t id, CUgraph graph, CUgraphNode node, CUgraphNode original);

  [[gnu::cold, gnu::noinline]] void before(std::uint32_t id, const CUpti_CallbackData& data);
  [[gnu::cold, gnu::noinline]] void after(std::uint32_t id, const CUpti_CallbackData& data);
  [[gnu::cold, gnu::noinline]] void after_captured(std::uint32_t id, const CUpti_CallbackData& data);
  void node_added(std::uint32_t id, const void* parameters);
  void graph_copied(CUgraph original, CUgraph copy, int depth);

  // Each call reads the first line of these members.
  alignas(64) CUpti_CallbackFunc callback_ = nullptr;
  std::atomic<std::uint32_t> captures_ = 0;
  DriverApi driver_;
  std::atomic<std::uint32_t> next_uid_ = 1;  // used if the driver does not number contexts
  struct Known {
    std::atomic<CUcontext> context;
    std::atomic<std::uint32_t> uid;
  };
  std::array<Known, kContexts> contexts_{};
  std::array<std::atomic<CUcontext>, kContexts> primary_{};  // indexed by device
  std::array<bool, 1024> resources_{};
  Mutex mutex_;
};

}  // namespace cudadiag::record
