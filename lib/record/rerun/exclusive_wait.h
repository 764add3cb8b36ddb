// Gives an operation exclusive use of the devices, in a rerun. The recorder waits until all earlier work has finished,
// and makes other threads wait at a gate before they issue more work. Then it waits for the operation. If the device
// fails during this time, no other operation can be the cause.
//
// Every wait polls with a deadline, because a blocking call could not be cancelled. An operation may itself wait for a
// later operation (NCCL, persistent kernels). If a wait exceeds the time limit, the recorder permanently stops waiting,
// and leaves a note. The time in which the driver writes a GPU core dump does not count. While any stream is under
// capture, the recorder does not wait, and while an operation runs alone, no capture can begin. Therefore no call of
// the recorder can disturb a capture.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "record/calls/failures.h"
#include "record/calls/launch_parameters.h"
#include "record/driver_api.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "record/rerun/launch_saver.h"
#include "record/rerun/node_saver.h"

namespace cudadiag::record {

class ExclusiveWait {
 public:
  void attach(AreaMap& area, Interner& interner, const DriverApi& driver, Streams& streams, Failures& failures,
              LaunchArguments& arguments);
  // `patience` is the time limit for one operation, in milliseconds.
  void start(std::uint32_t patience);
  // `file`: where the driver writes a GPU core dump when an operation fails; null if it writes none. Not copied.
  void expect_dump(const char* file) { dump_ = file; }
  // `saver` is notified when the operation that ran alone has failed. `nodes` is notified when the operation's call has
  // returned; `nodes` may be null.
  void save_by(LaunchSaver& saver, NodeSaver* nodes) { saver_ = &saver, nodes_ = nodes; }
  bool on() const { return on_.load(std::memory_order_relaxed); }
  // Call this when the driver reports on its own thread that the device has failed. Keeps the parameters of the
  // operation that runs alone, because its wait may never end.
  void device_failed();

  // Call this at ENTER of a call that issues work or begins a capture. Waits while another thread's operation runs
  // alone.
  void pass(ThreadState& thread);
  // The same for a thread that may have no state. Call leave() if this returns true. Does not wait if no operation may
  // run alone.
  bool pass();
  void leave() { passing_.fetch_sub(1); }
  // Call this at ENTER of a call whose operation should run alone. If begin() returns false, call pass() instead.
  bool begin(ThreadState& thread);
  // Waits for the operation. Call this at EXIT of a call for which begin() returned true, if the call queued the
  // operation. Returns false if the operation did not finish within the time limit.
  bool wait(ThreadState& thread);
  // Waits for the recorder's own work on `stream`. Call this on the thread whose operation runs alone. Returns
  // CUDA_ERROR_NOT_READY after the time limit.
  CUresult finish(CUstream stream) const;
  // Call this at EXIT if pass() or begin() was called at ENTER.
  void leave(ThreadState& thread) {
    if (thread.turn != Turn::none) [[unlikely]]
      end_turn(thread);
  }

 private:
  struct Wait;
  void end_turn(ThreadState& thread);
  bool expired(std::uint64_t deadline) const;
  bool is_dumping() const;
  // Waits until everything issued so far has finished.
  CUresult drain(const ThreadState& thread, std::uint64_t deadline, std::uint32_t& failed_stream);
  CUresult wait_for(const Wait& wait, std::uint64_t deadline);
  CUresult ask(const Wait& wait) const;
  void report(ThreadState& thread, CUresult result, std::uint32_t stream, std::uint32_t site);
  void give_up(const char* what);

  std::atomic<bool> on_ = false;  // first, since every operation reads it
  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  Streams* streams_ = nullptr;
  Failures* failures_ = nullptr;
  LaunchArguments* arguments_ = nullptr;
  AreaMap* area_ = nullptr;
  LaunchSaver* saver_ = nullptr;
  NodeSaver* nodes_ = nullptr;
  std::uint64_t patience_ = 0;  // ns
  const char* dump_ = nullptr;
  std::atomic<ThreadState*> alone_ = nullptr;  // the thread whose operation runs alone
  std::atomic<bool> noted_capture_ = false;
  std::atomic<std::uint32_t> passing_ = 0;  // threads inside a call that issues work
  std::atomic<bool> closed_ = false;        // whether the gate is closed: a thread runs alone, or is about to
};

}  // namespace cudadiag::record
