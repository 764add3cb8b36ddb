// Publishes, for readers of the area, the call in which a thread may wait for the GPU. Readers cannot ask the process
// itself while it is stuck in such a call.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "record/calls/calls.h"
#include "record/operations/site_finder.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/interner.h"
#include "record/watch.h"

namespace cudadiag::record {

class BlockingCalls {
 public:
  void attach(Interner& interner, SiteFinder& sites, Streams& streams, const Watch& watch);

  void enter(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
             std::uintptr_t frame);
  static void leave(ThreadState& thread) { wire::store(thread.entry, wire::thread::kCallSite, 0); }
  // The uid of the context that a call waits for: the one passed to the call, else the current one. Returns 0 if
  // unknown.
  std::uint32_t context_waited_for(std::uint32_t id, const CUpti_CallbackData& data) const;

 private:
  Interner* interner_ = nullptr;
  SiteFinder* sites_ = nullptr;
  Streams* streams_ = nullptr;
  const Watch* watch_ = nullptr;
};

}  // namespace cudadiag::record
