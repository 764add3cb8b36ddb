// The captures in progress: where each one began, on which thread and in which mode. Reports use them to explain errors
// during a capture. Captures are few, so a linear search is fast enough for a failed call.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/calls/call_rules.h"
#include "record/libc_substitutes.h"
#include "record/operations/site_finder.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"

namespace cudadiag::record {

struct Capture {
  std::uint64_t began = 0;  // ticks; 0 if none
  std::uint32_t tid = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::uint32_t site = 0;
  std::uint32_t context = 0;  // index of the stream's context
};

class Captures {
 public:
  // Identifies a stream by its handle. A per-thread default stream is also identified by its context and thread. Handle
  // 0 means no stream.
  struct Stream {
    std::uint64_t handle = 0;
    std::uint32_t context_uid = 0, tid = 0;
    bool operator==(const Stream&) const = default;
  };
  static Stream stream(StreamHandle given, std::uint32_t context_uid, std::uint32_t tid);

  // Call began() before the call that begins the capture, and refused() if that call has failed.
  void began(const Stream& stream, const Capture& capture);
  void refused(const Stream& stream);
  // Returns false if no capture of the stream is known: none began, or it was dropped because too many others began.
  bool ended(const Stream& stream);
  // Ends all captures of the context, and returns their number.
  std::size_t context_ended(std::uint32_t context);

  // Returns the capture that an error on this thread refers to. Tries, in this order: captures of the stream, captures
  // that this thread began in a mode other than relaxed, captures in global mode, all captures.
  Capture concerned(const Stream& stream, std::uint32_t tid) const;

 private:
  struct Entry {
    Stream stream;
    Capture capture;
  };
  template <typename Which>
  std::size_t remove(Which which);

  // If all entries are used, the oldest capture is dropped. Without this, captures that never end would fill the array.
  std::array<Entry, 64> entries_;  // newest last
  std::size_t used_ = 0;
  mutable Mutex mutex_;
};

// Follows stream captures from beginning to end, even if another thread ends them. Owns the list of captures in
// progress. `thread` is null for a thread without a ring.
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
