// Gives an operation the devices to itself, in a rerun: all that was issued before it has finished, other threads wait
// at a gate before they issue more, and it is waited for. If the device fails meanwhile, no other operation can have
// caused it.
//
// Every wait polls with a deadline, as a blocking call could not be cancelled: an operation may itself wait for a later
// one (NCCL, persistent kernels). After the time limit, waiting ends for good and a note says so. While any stream
// captures nothing is waited for, and no capture begins while an operation is alone: no call of ours can meet a
// capture.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "record/calls/failures.h"
#include "record/calls/launch_arguments.h"
#include "record/cupti/driver_api.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "record/saving/launch_saver.h"
#include "record/saving/node_saver.h"

namespace cudadiag::record {

class ExclusiveWait {
 public:
  void attach(AreaMap& area, Interner& interner, const DriverApi& driver, Streams& streams, Failures& failures,
              LaunchArguments& arguments);
  // `patience` in milliseconds, for one operation.
  void start(std::uint32_t patience);
  // `saver` learns when the operation that is alone has failed; `nodes`, which may be null, when its call has returned.
  void save_by(LaunchSaver& saver, NodeSaver* nodes) { saver_ = &saver, nodes_ = nodes; }
  bool on() const { return on_.load(std::memory_order_relaxed); }

  // ENTER of a call that issues work or begins a capture: waits while another thread's operation is alone.
  void pass(ThreadState& thread);
  // ENTER of a call whose operation is to be alone. False: it passes like any other.
  bool begin(ThreadState& thread);
  // EXIT of the same call, if it queued the operation: waits for it. False: it was not alone to its end.
  bool wait(ThreadState& thread);
  // For work of ours on the stream, by the thread that is alone: CUDA_ERROR_NOT_READY if it takes too long.
  CUresult finish(CUstream stream) const;
  // EXIT of every call that passed or began.
  void leave(ThreadState& thread) {
    if (thread.turn != Turn::none) [[unlikely]]
      end_turn(thread);
  }

 private:
  struct Wait;
  void end_turn(ThreadState& thread);
  bool expired(std::uint64_t deadline) const;
  // Waits until everything issued so far has finished.
  CUresult drain(const ThreadState& thread, std::uint64_t deadline, std::uint32_t& failed_stream);
  CUresult wait_for(const Wait& wait, std::uint64_t deadline);
  CUresult ask(const Wait& wait) const;
  void report(ThreadState& thread, CUresult result, std::uint32_t stream, std::uint32_t site);
  void give_up(const char* what);

  std::atomic<bool> on_ = false;  // first: every operation looks at it
  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  Streams* streams_ = nullptr;
  Failures* failures_ = nullptr;
  LaunchArguments* arguments_ = nullptr;
  AreaMap* area_ = nullptr;
  LaunchSaver* saver_ = nullptr;
  NodeSaver* nodes_ = nullptr;
  std::uint64_t patience_ = 0;  // ns
  std::atomic<bool> noted_capture_ = false;
  std::atomic<std::uint32_t> passing_ = 0;  // threads inside a call that issues work
  std::atomic<bool> closed_ = false;        // the gate: somebody is alone, or about to be
};

}  // namespace cudadiag::record
