// The captures in progress: where each was begun, by which thread and in which mode, for the errors that follow when
// one of them is broken. A few at most, so that a search through all of them is cheap enough for a failed call.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/lock.h"
#include "record/operations/streams.h"

namespace cudadiag::record {

struct Capture {
  std::uint64_t began = 0;  // ticks; 0: none
  std::uint32_t tid = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::uint32_t site = 0;
  std::uint32_t context = 0;  // index, of the stream
};

class Captures {
 public:
  // A stream by its handle; the per-thread default stream by its context and thread too. 0: none.
  struct Stream {
    std::uint64_t handle = 0;
    std::uint32_t context_uid = 0, tid = 0;
    bool operator==(const Stream&) const = default;
  };
  static Stream stream(StreamHandle given, std::uint32_t context_uid, std::uint32_t tid);

  // Before the call that begins it / after that call was refused.
  void began(const Stream& stream, const Capture& capture);
  void refused(const Stream& stream);
  // False: the stream began none, or so many have begun since that it is forgotten.
  bool ended(const Stream& stream);
  // How many ended with their context.
  std::size_t context_ended(std::uint32_t context);

  // The capture that an error of this thread is about: that of the stream, else the thread's own, else the one of
  // another thread that forbids most.
  Capture concerned(const Stream& stream, std::uint32_t tid) const;

 private:
  struct Entry {
    Stream stream;
    Capture capture;
  };
  template <typename Which>
  std::size_t remove(Which which);

  // Captures that are never ended take places too: the oldest one goes.
  std::array<Entry, 64> entries_;  // the newest last
  std::size_t used_ = 0;
  mutable Mutex mutex_;
};

}  // namespace cudadiag::record
