// The captures in progress: where each one began, on which thread and in which mode. After a call has broken a capture,
// this explains the errors that follow. There are few captures, so a failed call can search through all of them.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/lock.h"
#include "record/operations/streams.h"

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
  // A stream, identified by its handle. The per-thread default stream is also identified by its context and thread.
  // Handle 0 means no stream.
  struct Stream {
    std::uint64_t handle = 0;
    std::uint32_t context_uid = 0, tid = 0;
    bool operator==(const Stream&) const = default;
  };
  static Stream stream(StreamHandle given, std::uint32_t context_uid, std::uint32_t tid);

  // began() is called before the call that begins the capture, refused() after that call failed.
  void began(const Stream& stream, const Capture& capture);
  void refused(const Stream& stream);
  // Returns false if no capture began on the stream, or if the capture was dropped because too many others began.
  bool ended(const Stream& stream);
  // Returns how many captures ended with their context.
  std::size_t context_ended(std::uint32_t context);

  // The capture that an error of this thread concerns: the stream's own, else the thread's own, else another thread's,
  // with the strictest mode first.
  Capture concerned(const Stream& stream, std::uint32_t tid) const;

 private:
  struct Entry {
    Stream stream;
    Capture capture;
  };
  template <typename Which>
  std::size_t remove(Which which);

  // Captures that never end occupy entries too, so the oldest one is dropped if all entries are used.
  std::array<Entry, 64> entries_;  // the newest last
  std::size_t used_ = 0;
  mutable Mutex mutex_;
};

}  // namespace cudadiag::record
