// The interface between the simulated libcuda and the simulated libcupti and libcudart: which callbacks are wanted, and
// the state of each thread. libcuda owns all of it.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi.h"

namespace sim {

struct Hooks {
  static constexpr std::uint32_t kIds = 1024;
  std::atomic<CUpti_CallbackFunc> callback{nullptr};
  std::atomic<void*> user_data{nullptr};
  std::atomic<bool> driver[kIds]{};
  std::atomic<bool> runtime[kIds]{};
  std::atomic<bool> resource[kIds]{};
};

// `shared`: CUPTI 13.3, with a driver that allows several tools. `unshared`: the same CUPTI, with an older driver.
enum class CuptiPolicy : int { normal, held, too_new, shared, unshared };

// A place in shared memory where kernels of several processes wait for each other.
struct Meeting {
  std::atomic<std::uint32_t>* arrived;
  std::uint32_t parties;
  bool arrives;  // false if this kernel only waits
};

}  // namespace sim

extern "C" {
sim::Hooks* sim_hooks();
sim::CuptiPolicy sim_cupti_policy();
void sim_current_context(CUcontext* context, std::uint32_t* uid);
CUresult sim_context_error();  // the current context's sticky error
std::uint32_t sim_next_correlation();
// Returns the correlation id of the runtime call that this thread is inside; 0 if none.
std::uint32_t* sim_runtime_correlation();
// Return the ids that CUPTI returns. A null stream means the legacy stream or, with `per_thread`, the thread's own
// stream.
std::uint32_t sim_stream_id(CUcontext context, CUstream stream, bool per_thread);
std::uint64_t sim_graph_node_id(CUgraphNode node);
std::uint32_t sim_graph_id(CUgraph graph);
std::uint32_t sim_context_id(CUcontext context);
std::uint32_t sim_context_device(CUcontext context);
// Used by tests: releases everything that a `hold … until=notify` rule holds.
void sim_notify();
// Makes the next kernel that this thread launches arrive at all of these meetings. The kernel finishes once each
// meeting has reached its number of arrivals.
void sim_next_kernel_meets(const sim::Meeting* meetings, std::size_t count);
}
