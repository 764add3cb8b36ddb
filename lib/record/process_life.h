// The start and the end of the recorded process, and its GPU core dump.
#pragma once

#include <cupti.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "record/calls/failures.h"
#include "record/driver_api.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"

namespace cudadiag::record {

// Records the properties of the process: command line, folder, host, rank and driver. session::ProcessRecord lists them
// all.
void describe_process(Interner& interner);

// Finds out whether CUDA_LAUNCH_BLOCKING may be in effect. The documentation does not say whether the driver reads the
// variable when it starts or when it creates a context. Therefore, the variable may have an effect if it is set at
// either time.
class LaunchBlocking {
 public:
  static constexpr const char* kVariable = "CUDA_LAUNCH_BLOCKING";

  void context_made();
  // Notes that the program has set the variable too late. Call this only at a failure: each call is a risk, because
  // another thread may change the environment during getenv().
  void note_if_set_late(Interner& interner) const;

 private:
  std::atomic<bool> may_block_ = false;
};

// A GPU core dump of this process, and the files that belong to it (wire/pass_files.h).
class CoreDump {
 public:
  // Makes the driver write the dump when a kernel fails, and on request. `folder` is the folder of the pass, or null.
  // `start` is area::kStartRealtime. Records a property, and returns the dump's path, which stays valid. If the driver
  // cannot write a dump, leaves a note and returns null.
  const char* arm(const DriverApi& driver, Interner& interner, const char* folder, std::uint64_t start);
  // Call this when the driver has written a dump, even more than once. Returns true if the dump was requested. Then
  // records a property, and tells whoever requested the dump that it is complete.
  bool take_request(Interner& interner);

 private:
  std::atomic<bool> was_requested_ = false;
  char file_[PATH_MAX], pipe_[PATH_MAX], request_[PATH_MAX];
};

// The actions that are safe on the thread that calls exit(). This thread may have been interrupted inside the recorder
// or the driver.
struct ExitingThread {
  bool may_lock;  // the thread may take the recorder's locks
  bool may_ask_driver;
};

// Looks for a fault that no call of the program has reported. Waits a short time for unfinished work.
class ExitProbe {
 public:
  void attach(AreaMap& area, Interner& interner, const DriverApi& driver, Streams& streams, Failures& failures,
              Threads& threads);

  // `status` is the argument of exit().
  void at_exit(int status, ExitingThread thread);
  void before_context_ends(std::uint32_t id, const CUpti_CallbackData& data);
  void before_device_reset();

 private:
  template <typename Ends, typename MayWait>
  void find_faults(Ends ends, MayWait may_wait);

  AreaMap* area_ = nullptr;
  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  Streams* streams_ = nullptr;
  Failures* failures_ = nullptr;
  Threads* threads_ = nullptr;
};

// Makes exit() call `first` before all handlers that are already registered. `status` is the argument of the first call
// of exit(). Must be called once, after CUPTI is loaded. Also prevents a crash in libc if several threads call exit()
// at the same time.
//
// libc keeps its exit handlers in blocks of 32. Before glibc 2.41, several threads may run handlers at the same time,
// and each takes the next handler from the list. The thread that takes the last handler of a block frees the block
// while other threads are still inside handlers of this block. These threads crash when they return. The first block is
// never freed, and few programs fill it, but CUPTI registers 38 handlers. For this reason, our handler is the only one
// that threads take from libc's list. It runs all other handlers without freeing their blocks.
void run_at_exit(void (*first)(int status));

// Ends this process on a separate thread, after the same times as `run --end-on-failure`: a second for the program's
// own messages, then SIGTERM, and two seconds later _exit(). SIGKILL would not end process 1 of a container. If a limit
// allows no more threads, sends SIGTERM at once.
void end_soon();

}  // namespace cudadiag::record
