// The meaning of the driver's calls for the recorder, by CUPTI callback id: which ones issue an operation on a stream,
// which ones wait, which ones open or close a capture. All others are watched only for their return codes.
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
  stream_wait,      // success proves that the stream has finished
  context_wait,     // success proves that all streams of the context have
  event_wait,       // success proves that the event has
  event_forgotten,  // where the event was recorded is not known from then on
  event_shared,     // with other processes, which record it too
  capture_begin,
  capture_end,
  peer_access,  // access of the current context to another one's memory: given or taken back
  graph,        // graph_calls.h
  look_up,      // of the driver's functions; not to have one is an answer
  initialise,
  load_code,
};

// A call's arguments as far as the recorder keeps them.
struct Call {
  StreamHandle stream{};
  CUfunction function = nullptr;
  std::uint32_t grid[3] = {}, block[3] = {}, cluster[3] = {};
  std::uint32_t shared_bytes = 0;
  std::uint64_t argument = 0;  // wire::operation::kArgument; a capture's mode
  std::uint64_t destination = 0, source = 0;
  // For copies and memsets of rows. 1 row: all in one piece; 0: not describable by these fields.
  std::uint64_t width = 0, destination_pitch = 0, source_pitch = 0;
  std::uint32_t rows = 1;
  std::uint64_t value = 0;
  wire::operation::MemoryOperation memory_operation = wire::operation::MemoryOperation::unknown;
  bool to_host = false,
       from_host = false;  // of a copy: its name and arguments allow that it goes to, or comes from, the host
  void* const* parameters = nullptr;  // of a launch
  void* const* extra = nullptr;
};

struct CallRule {
  Role role = Role::watched;
  wire::operation::Kind kind = wire::operation::Kind::none;
  bool per_thread = false;       // handle 0 is the per-thread default stream
  bool proves_finished = false;  // an operation after whose success the data has arrived
  void (*decode)(const void* parameters, Call& call) = nullptr;
  bool memory = false;  // memory_calls.h
  bool ends_context = false;
  bool ends_stream = false;  // of a context, all of them
  bool blocks = false;       // it may wait for the GPU: its stacks are there to be read while it does
  bool only_issues = false;  // an operation, and nothing of the above
};

// Ids of drivers to come lie beyond the table: they are watched.
[[gnu::hot]] const CallRule& driver_call(std::uint32_t id);
// By a call's name: it only queries, and never returns a failure of the GPU. PyTorch makes thirty such calls for every
// launch, and a callback costs 0.2 µs: they get none.
bool only_asks(std::string_view name);

// Addresses and rows of a copy.
void read_copy(const CUDA_MEMCPY3D& copy, Call& call);

// The launch dimensions of a runtime call, for those that the runtime refuses before any driver call. False: not a
// launch.
bool decode_runtime_launch(std::uint32_t id, const void* parameters, Call& call);

}  // namespace cudadiag::record
