// Follows stream captures from their begin to their end, whichever thread ends them. Owns the list of those in
// progress. `thread` may be null in all of these: a thread without a ring.
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
  // The call that was to begin it has failed.
  void refuse(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data);
  void end(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data, std::uint32_t result);
  // A capture ends with its stream, and with its context.
  void stream_destroyed(CUstream stream);
  void context_destroyed(std::uint32_t context);

  // The capture that an error of this thread is about. `rule`: of the driver call that failed; null: another call.
  Capture concerned(const ThreadState& thread, const CallRule* rule, const CUpti_CallbackData& data) const;

 private:
  static Captures::Stream stream_of(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data);

  Streams* streams_ = nullptr;
  SiteFinder* sites_ = nullptr;
  Captures captures_;
};

}  // namespace cudadiag::record
