// Reads a PyTorch Flight Recorder dump: the latest collective calls of one rank. Each call has its process group, its
// state and its Python stack. ProcessGroupNCCL writes a dump for each rank when a collective times out.
//
// The file is a pickle or JSON, in version 2.x of the recorder's format. Fields that a version does not have are empty.
// The file is not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cudadiag::evidence {

struct FlightFrame {
  std::string file, function;
  int line = 0;
  bool operator==(const FlightFrame&) const = default;
};

struct FlightGroup {
  std::string name;                 // PyTorch's internal name: a number or a hash
  std::string description;          // the name that the program gave it, or empty
  std::vector<std::int32_t> ranks;  // rank numbers in the job, sorted by rank in the group
};

struct FlightCall {
  enum class State { scheduled, started, completed };

  std::uint32_t group = 0;       // index in FlightDump::groups
  std::uint64_t collective = 0;  // number among the collectives of its group; the calls of a batch share a number
  std::uint64_t message = 0;     // number among the sends and receives of its group
  bool is_message = false;
  State state = State::scheduled;
  std::string function;                 // "all_reduce", "send 0->1"; without the backend
  std::uint64_t input = 0, output = 0;  // number of elements in all tensors together
  std::string input_type, output_type;  // type of the first tensor: "Float"
  double created = 0;                   // seconds since the epoch
  std::uint32_t stack = 0;              // 1 + index in FlightDump::stacks; 0 if it has no stack
};

struct FlightDump {
  static constexpr std::size_t kMostCalls = std::size_t{1} << 19;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

  std::string version;  // "2.10"
  std::vector<FlightGroup> groups;
  std::vector<FlightCall> calls;                 // oldest first
  std::vector<std::vector<FlightFrame>> stacks;  // innermost first
  bool is_whole = false;                         // `calls` begins with the first call of the process
};

// `bytes` are the contents of a file of at most kMostBytes. An error is a clause: "it is not a protocol 2 pickle".
base::Result<FlightDump> read_flight_dump(std::string bytes);

}  // namespace cudadiag::evidence
