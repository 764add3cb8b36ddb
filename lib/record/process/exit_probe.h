// At process exit and before a context is destroyed, looks for a fault that no call of the program has reported. Waits
// a short time for unfinished work.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "record/calls/failures.h"
#include "record/cupti/driver_api.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"

namespace cudadiag::record {

// The actions that are safe on the thread that calls exit(). This thread may have been interrupted inside the recorder
// or the driver.
struct ExitingThread {
  bool may_lock;  // the thread may take the recorder's locks
  bool may_ask_driver;
};

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

}  // namespace cudadiag::record
