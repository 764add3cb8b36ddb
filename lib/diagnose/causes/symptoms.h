// The known facts of one failure, as the rules need them: plain data, names resolved and demangled, numbers exact.
// Empty, zero or nothing is "not known", and a rule that needs the fact does not fire.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cudadiag::causes {

using Dim3 = std::array<std::uint32_t, 3>;
using Number = std::variant<std::int64_t, double>;

// The allocation that a pointer pointed into, or past the end of.
struct Memory {
  std::uint64_t bytes = 0, offset = 0;  // offset: of the pointer; not less than bytes: past the end
  std::optional<std::uint32_t> device;
  bool out_of_reach = false;           // of another device, which the operation's had not been given access to
  std::string state;                   // "live" | "freed"
  std::string allocated_at, freed_at;  // "train.py:39, forward"
};

// One value that went into the failing operation.
struct Argument {
  std::string name;
  std::string origin;  // "operator" | "variable" | "kernel"
  std::string dtype;
  std::vector<std::int64_t> shape, strides;
  std::optional<Number> min, max;
  std::optional<std::uint64_t> nan, inf;
  // For indices into something with `bound` entries: how many are out of range, and the first of them.
  std::optional<std::int64_t> bound;
  std::optional<std::uint64_t> outside;
  std::vector<std::int64_t> first_outside;
  std::optional<Number> first_value;
  std::optional<std::uint64_t> pointer;
  std::optional<std::uint64_t> bytes;  // that a copy or memset touches from there on
  std::optional<Memory> memory;
};

// The access that failed, as a core dump and the recording know it.
struct FailedAccess {
  enum class Relation { past_end, before, freed, null, never_allocated, other_device, misaligned };
  Relation relation = Relation::past_end;
  bool shared = false;      // shared memory is meant
  std::string kernel;       // "scale()"
  std::string verb;         // "reads"
  std::string parameter;    // "parameter 1"; empty: not known
  std::uint32_t bytes = 0;  // at once
  std::optional<std::uint64_t> distance;
  bool overflow = false;  // 2^32 elements less or more would lie inside
  std::optional<Memory> memory;
};

struct Frame {
  std::string file, function;
  bool user = false;
};

// The APIs that the process was seen to use: advice names calls of these.
struct Dialect {
  bool driver = false;  // it calls the driver itself; else the runtime, or that is not known
  bool python = false;
  bool torch = false;
};

struct Symptoms {
  Dialect dialect;
  std::uint32_t code = 0;
  bool asynchronous = false;          // the GPU's own work failed; else a call was refused
  std::string call;                   // the refused call, as the program made it: "cudaMalloc"
  std::string host_side;              // argument that a refused copy takes for the host's: "destination" | "source"
  std::string swallowed;              // a call of that thread that had failed before, with nothing issued in between
  std::string library;                // CUDA library that made the call: "libcublas.so.13"
  std::uint64_t bytes = 0;            // that the call asked for
  std::optional<std::uint64_t> free;  // bytes that the device had left then
  std::string operation;              // "kernel" | "graph" | "copy" | "memset" | "call"
  // No call failed: the operation, or one of several, does not end.
  bool hang = false;
  std::string waits_for;                // "value" | "stream" | "semaphore", where the operation waits for somebody else
  std::string wait;                     // that in words: "until the word at 0x7f40 equals 1; …"
  bool write_queued = false;            // a stream has the write of that value before it
  bool asked_for_dump = false;          // a rerun for a GPU core dump was made
  bool line_in_dump = false;            // and it shows where threads of the operation's kernel are
  std::optional<std::uint32_t> device;  // that the operation ran on
  // For a hang in a collective of several ranks, if their calls are known.
  std::size_t ranks = 0;
  std::string ranks_part;     // "absence" | "line" | "kernel" | "blocks" | "none"; empty: not known
  std::string missing_ranks;  // "rank 1": they have not come to it
  std::string rank_calls;     // of the others: "rank 0: train.py:40, step"
  bool in_graph = false;      // a node of a launched graph, or the launch itself
  bool launch = false;        // the refused call launches a kernel: grid, block and shared_bytes are its
  std::string kernel;         // demangled; empty where several kernels can be the one
  Dim3 grid{}, block{};
  std::uint32_t shared_bytes = 0;            // dynamic
  std::string assertion;                     // condition or message of the device assertion that failed
  std::string device_function, device_file;  // of the exception or assertion
  std::string exception;                     // "Warp Misaligned Address"
  std::vector<Argument> arguments;
  std::optional<FailedAccess> access;
  std::string source;         // the true line, without its comment
  std::vector<Frame> python;  // innermost first
  // A broken capture, where it was one.
  bool captured_by_other_thread = false;  // this thread captures nothing
  std::uint32_t forked_from = 0;          // process with CUDA of which this one is a fork; 0: none is known
  std::string forked_at;                  // "train.py:39, start"
  std::uint32_t failed_elsewhere = 0;     // process of the same job that failed earlier; 0: none is known
  bool vanished_when_serialised = false;  // a rerun failed unless it waited at this operation
  bool may_be_another_client = false;  // the GPU is shared under MPS, and nothing shows that this program's work failed
  std::string foreign_exception;       // that a rerun saw in code that the program had not loaded
  std::map<std::string, std::string> versions;     // "driver", "cuda", "torch", …
  std::vector<std::string> gpus;                   // names
  std::map<std::string, std::string> environment;  // of the variables that CUDA reads; not set: not there
};

}  // namespace cudadiag::causes
