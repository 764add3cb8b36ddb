// The rules for driver calls, by CUPTI callback id: which calls issue an operation, wait, or control a capture. For
// calls without a rule, the recorder only checks the return code.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string_view>

#include "record/operations/streams.h"
#include "wire/operation.h"

namespace cudadiag::record {

enum class Role : std::uint8_t {
  watched,  // only its return code matters
  operation,
  stream_wait,      // success proves that all work on the stream has finished
  context_wait,     // success proves that all work in the context has finished
  event_wait,       // success proves that the event has completed
  event_forgotten,  // after this call, the recorder does not know where the event was recorded
  event_shared,     // shares the event with other processes, which may record it too
  capture_begin,
  capture_end,
  peer_access,  // the current context gains or loses access to another context's memory
  graph,        // see memory_and_graph_call_rules.h
  look_up,      // looks up driver functions; "not found" is not a failure
  initialise,
  load_code,
};

// The arguments that the recorder needs from a call.
struct Call {
  StreamHandle stream{};
  CUfunction function = nullptr;
  std::uint32_t grid[3] = {}, block[3] = {}, cluster[3] = {};
  std::uint32_t shared_bytes = 0;
  std::uint64_t argument = 0;  // value of wire::operation::kArgument; the mode, if the call begins a capture
  std::uint64_t destination = 0, source = 0;
  // Set for 2D and 3D copies and for memsets. `rows` is 1 for contiguous memory, and 0 if these fields cannot describe
  // the shape.
  std::uint64_t width = 0, destination_pitch = 0, source_pitch = 0;
  std::uint32_t rows = 1;
  std::uint64_t value = 0;
  wire::operation::MemoryOperation memory_operation = wire::operation::MemoryOperation::unknown;
  bool to_host = false,
       from_host = false;             // whether a copy's destination and source may be on the host
  void* const* parameters = nullptr;  // kernelParams of a launch
  void* const* extra = nullptr;
};

struct CallRule {
  Role role = Role::watched;
  wire::operation::Kind kind = wire::operation::Kind::none;
  bool per_thread = false;       // handle 0 is the per-thread default stream
  bool proves_finished = false;  // success proves that the copy has finished
  void (*decode)(const void* parameters, Call& call) = nullptr;
  bool memory = false;  // allocates or frees memory (memory_and_graph_call_rules.h)
  bool ends_context = false;
  bool ends_stream = false;  // ends a stream, or a context with all its streams
  bool blocks = false;       // may wait for the GPU, so its stacks are published while it runs
  bool only_issues = false;  // an operation that does not block, end anything, or allocate or free memory

  bool operator==(const CallRule&) const = default;
};

// The rule of any call that launches a kernel, given what differs between these calls. Most operations are kernels, so
// the launch path is compiled for this rule, without the branches that only other calls need.
constexpr CallRule kernel_rule(const CallRule& rule) {
  CallRule kernel{Role::operation, wire::operation::Kind::kernel, rule.per_thread, false, rule.decode};
  kernel.only_issues = true;
  return kernel;
}

// Returns a rule with Role::watched for calls that only newer drivers have.
[[gnu::hot]] const CallRule& driver_call(std::uint32_t id);
// Returns true if the name shows that the call is a query that never returns a GPU failure. The recorder enables no
// callbacks for these calls: PyTorch makes thirty of them per launch, and each callback costs 0.2 µs.
bool only_asks(std::string_view name);

void read_copy(const CUDA_MEMCPY3D& copy, Call& call);

// Reads the launch dimensions of a runtime call, for launches that the runtime rejects before it calls the driver.
// Returns false if the call is not a launch.
bool decode_runtime_launch(std::uint32_t id, const void* parameters, Call& call);

}  // namespace cudadiag::record
