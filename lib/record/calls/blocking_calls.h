// The calls in which threads wait for the GPU.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "record/callback_source.h"
#include "record/calls/call_rules.h"
#include "record/operations/site_finder.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/interner.h"
#include "wire/tables.h"

namespace cudadiag::record {

// Publishes the call in which a thread may be waiting for the GPU. Other processes read the call from the area, because
// a process that hangs cannot report it.
class BlockingCalls {
 public:
  void attach(Interner& interner, SiteFinder& sites, Streams& streams, const CallbackSource& source);

  void enter(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
             std::uintptr_t frame);
  static void leave(ThreadState& thread) { wire::store(thread.entry, wire::thread::kCallSite, 0); }
  // Returns the uid of the context that a call waits for: the context passed to the call or, without one, the current
  // context. Returns 0 if it is unknown.
  std::uint32_t context_waited_for(std::uint32_t id, const CUpti_CallbackData& data) const;

 private:
  Interner* interner_ = nullptr;
  SiteFinder* sites_ = nullptr;
  Streams* streams_ = nullptr;
  const CallbackSource* source_ = nullptr;
};

}  // namespace cudadiag::record
