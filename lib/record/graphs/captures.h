// The captures in progress: where each one began, on which thread and in which mode. They explain the errors that
// follow when a call has broken a capture. There are few captures, so a failed call can search all of them.
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
  // Identifies a stream by its handle; a per-thread default stream also by its context and thread. Handle 0 means no
  // stream.
  struct Stream {
    std::uint64_t handle = 0;
    std::uint32_t context_uid = 0, tid = 0;
    bool operator==(const Stream&) const = default;
  };
  static Stream stream(StreamHandle given, std::uint32_t context_uid, std::uint32_t tid);

  // Call began() before the call that begins the capture, and refused() if that call has failed.
  void began(const Stream& stream, const Capture& capture);
  void refused(const Stream& stream);
  // Returns false if no capture began on the stream, or if the capture was dropped because too many others began.
  bool ended(const Stream& stream);
  // Ends all captures of the context, and returns their number.
  std::size_t context_ended(std::uint32_t context);

  // Returns the capture that an error of this thread is about: the stream's own, or else the thread's own, or else
  // another thread's. Prefers stricter modes.
  Capture concerned(const Stream& stream, std::uint32_t tid) const;

 private:
  struct Entry {
    Stream stream;
    Capture capture;
  };
  template <typename Which>
  std::size_t remove(Which which);

  // If all entries are used, the oldest capture is dropped: a capture that never ends would occupy its entry forever.
  std::array<Entry, 64> entries_;  // the newest last
  std::size_t used_ = 0;
  mutable Mutex mutex_;
};

}  // namespace cudadiag::record
