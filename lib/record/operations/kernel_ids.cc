#include "record/operations/kernel_ids.h"

#include "wire/hash.h"

namespace cudadiag::record {

void KernelIds::attach(Interner& interner, const DriverApi& driver, const Watch& watch) {
  interner_ = &interner;
  driver_ = &driver;
  watch_ = &watch;
}

// CUPTI passes the symbol to the callback. With hooks, the driver must be queried. Tries both queries, because the
// program may have passed a CUkernel as a CUfunction.
const char* KernelIds::symbol_of(CUfunction kernel) const {
  const char* symbol = nullptr;
  if (kernel == nullptr || !watch_->by_hooks()) return nullptr;
  const RelaxedCapture relaxed(*driver_);
  if (driver_->func_get_name != nullptr && driver_->func_get_name(&symbol, kernel) == CUDA_SUCCESS) return symbol;
  if (driver_->kernel_get_name != nullptr &&
      driver_->kernel_get_name(&symbol, reinterpret_cast<CUkernel>(kernel)) == CUDA_SUCCESS) {
    return symbol;
  }
  return nullptr;
}

std::uint32_t KernelIds::id_of(CUfunction kernel, const char* symbol, std::uint64_t unloads) {
  if (symbol == nullptr) symbol = symbol_of(kernel);
  if (symbol == nullptr) return 0;
  const std::uint64_t key =
      wire::mix(wire::mix(wire::mix(wire::kHashSeed, unloads), reinterpret_cast<std::uint64_t>(kernel)),
                reinterpret_cast<std::uint64_t>(symbol));
  if (const std::uint32_t id = known_.find(key)) return id;
  const std::uint32_t id = interner_->function(symbol);
  const LockGuard lock(mutex_);
  if (known_.find(key) == 0) known_.insert(key, id);
  return id;
}

}  // namespace cudadiag::record
