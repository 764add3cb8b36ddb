// Finds the intern id of a kernel by the handle that is passed to a launch. The class has one lock.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "record/cupti/driver_api.h"
#include "record/lock.h"
#include "record/output/id_table.h"
#include "record/output/interner.h"
#include "record/watch.h"

namespace cudadiag::record {

class KernelIds {
 public:
  void attach(Interner& interner, const DriverApi& driver, const Watch& watch);
  // `symbol` is null if CUPTI did not pass it. `unloads` is how many times code has been unloaded so far: a handle may
  // belong to a different kernel after an unload. Returns 0 if the kernel is unknown.
  std::uint32_t id_of(CUfunction kernel, const char* symbol, std::uint64_t unloads);

 private:
  const char* symbol_of(CUfunction kernel) const;

  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  const Watch* watch_ = nullptr;
  Mutex mutex_;
  IdTable<32768> known_;
};

}  // namespace cudadiag::record
