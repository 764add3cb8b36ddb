// Follows stream captures from beginning to end, even if another thread ends them. Owns the list of captures in
// progress. `thread` is null for a thread without a ring.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "record/calls/calls.h"
#include "record/graphs/captures.h"
#include "record/operations/site_finder.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"

namespace cudadiag::record {

class CaptureRecorder {
 public:
  void attach(Streams& streams, SiteFinder& sites) {
    streams_ = &streams;
    sites_ = &sites;
  }

  void begin(ThreadState* thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
             std::uintptr_t frame);
  // Call this if the call that should have begun the capture has failed.
  void refuse(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data);
  void end(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data, std::uint32_t result);
  // Ends the captures of a stream or context that is destroyed.
  void stream_destroyed(CUstream stream);
  void context_destroyed(std::uint32_t context);

  // Returns the capture that this thread's error refers to. `rule` is the rule of the failed driver call, or null for
  // other calls.
  Capture concerned(const ThreadState& thread, const CallRule* rule, const CUpti_CallbackData& data) const;

 private:
  static Captures::Stream stream_of(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data);

  Streams* streams_ = nullptr;
  SiteFinder* sites_ = nullptr;
  Captures captures_;
};

}  // namespace cudadiag::record
