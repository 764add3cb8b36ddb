// Intern ids of kernels by the handles that launches give. One lock of its own.
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
  // `symbol`: null if CUPTI did not give it. `unloads`: how often code was unloaded; a handle may come back as another
  // kernel after that. 0: not known.
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
