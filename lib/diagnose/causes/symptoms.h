// The known facts of one failure, as the rules need them: plain data, names resolved and demangled, numbers exact.
// Empty, zero or nothing is "not known", and a rule that needs the fact does not fire.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/facts/argument.h"
#include "diagnose/facts/hang.h"
#include "diagnose/facts/relation.h"
#include "session/work.h"

namespace cudadiag::causes {

using Dim3 = std::array<std::uint32_t, 3>;
using diagnose::Argument;
using diagnose::Number;
using diagnose::RanksDifference;
using diagnose::Relation;
using diagnose::WaitsFor;
using session::Work;

// The access that failed, as a core dump and the recording know it.
struct FailedAccess {
  Relation relation = Relation::past_end;
  bool shared = false;      // shared memory is meant
  std::string kernel;       // "scale()"
  std::string verb;         // "reads"
  std::string parameter;    // "parameter 1"; empty: not known
  std::uint32_t bytes = 0;  // at once
  std::optional<std::uint64_t> distance;
  bool overflow = false;  // 2^32 elements less or more would lie inside
  std::optional<diagnose::PointedMemory> allocation;
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
  std::optional<Work> operation;      // nothing: not known, or several kinds are possible
  // No call failed: the operation, or one of several, does not end.
  bool hang = false;
  std::optional<WaitsFor> waits_for;    // nothing: the operation waits for nothing else
  std::string wait;                     // that in words: "until the word at 0x7f40 equals 1; …"
  bool write_queued = false;            // a stream has the write of that value before it
  bool asked_for_dump = false;          // a rerun for a GPU core dump was made
  bool while_running = false;           // the program was not ended for it
  bool line_in_dump = false;            // and it shows where threads of the operation's kernel are
  std::optional<std::uint32_t> device;  // that the operation ran on
  // For a hang in a collective of several ranks, if their calls are known.
  std::size_t ranks = 0;
  std::optional<RanksDifference> ranks_part;
  std::string missing_ranks;  // "rank 1": they have not reached it
  std::string rank_calls;     // of the others: "rank 0: train.py:40, step"
  bool in_graph = false;      // a node of a launched graph, or the launch itself
  // The graph's pointer to freed memory may not be the reason: another operation may have failed, or it is a word of a
  // structure.
  bool pointer_in_doubt = false;
  bool launch = false;  // the refused call launches a kernel: grid, block and shared_bytes are its
  std::string kernel;   // demangled; empty if several kernels are possible
  Dim3 grid{}, block{};
  std::uint32_t shared_bytes = 0;            // dynamic
  std::string assertion;                     // condition or message of the device assertion that failed
  std::string device_function, device_file;  // of the exception or assertion
  std::string exception;                     // "Warp Misaligned Address"
  std::vector<Argument> arguments;
  std::string directory;  // paths below it are shown relative to it
  std::optional<FailedAccess> access;
  std::string source;         // the true line, without its comment
  std::vector<Frame> python;  // innermost first
  // A broken capture, where it was one.
  bool captured_by_other_thread = false;  // this thread captures nothing
  std::uint32_t forked_from = 0;          // the process with CUDA that this one was forked from; 0: none is known
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
