// The facts of one failure, in the form that the rules need: names are resolved and demangled. Empty, zero or nullopt
// means unknown, so a rule that needs the fact does not match.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/facts/access.h"
#include "diagnose/facts/argument.h"
#include "diagnose/facts/hang.h"
#include "session/work.h"
#include "symbolize/source_frame.h"

namespace cudadiag::causes {

using Dim3 = std::array<std::uint32_t, 3>;
using diagnose::Access;
using diagnose::Argument;
using diagnose::Number;
using diagnose::RanksDifference;
using diagnose::Relation;
using diagnose::WaitsFor;
using session::Work;
using symbolize::PythonFrame;

// The APIs that the process used. Advice names the calls of these APIs.
struct Dialect {
  bool driver = false;  // calls the driver API directly; false if it uses the runtime, or if this is unknown
  bool python = false;
  bool torch = false;
};

struct Symptoms {
  Dialect dialect;
  std::uint32_t code = 0;
  bool asynchronous = false;          // GPU work failed; if false, a call was refused
  std::string call;                   // the refused call by the name that the program used: "cudaMalloc"
  std::string host_side;              // the side that a refused copy treats as host memory: "destination" | "source"
  std::string swallowed;              // an earlier failed call of the thread, if the thread issued nothing in between
  std::string library;                // the CUDA library that made the call: "libcublas.so.13"
  std::uint64_t bytes = 0;            // requested by the call
  std::optional<std::uint64_t> free;  // bytes free on the device right after the call
  std::optional<Work> operation;      // nullopt if unknown, or if several kinds are possible
  // True if no call failed, but the operation, or one of several candidates, never finishes.
  bool hang = false;
  std::optional<WaitsFor> waits_for;    // nullopt if the operation does not wait for something else
  std::string wait;                     // the wait in words: "until the word at 0x7f40 equals 1; …"
  bool write_queued = false;            // a write to the awaited word is queued on a stream
  bool asked_for_dump = false;          // a rerun tried to get a GPU core dump
  bool while_running = false;           // found while the program was still running
  bool line_in_dump = false;            // the dump shows where threads of the operation's kernel are
  std::optional<std::uint32_t> device;  // device of the operation
  // The next four members are set for a hang in a collective of several ranks, if the ranks' calls are known.
  std::size_t ranks = 0;
  std::optional<RanksDifference> ranks_part;
  std::string missing_ranks;  // "rank 1": the ranks that have not reached the collective
  std::string rank_calls;     // calls of the other ranks: "rank 0: train.py:40, step"
  bool in_graph = false;      // the operation is a node of a launched graph, or the graph's launch
  // True if the cause may be something other than the graph's pointer to freed memory. Another operation may have
  // failed, or the pointer may be a stale field of a structure.
  bool pointer_in_doubt = false;
  bool launch = false;           // the refused call launches a kernel with this grid, block and shared_bytes
  std::string kernel;            // demangled; empty if several kernels are possible
  std::string likeliest_kernel;  // the same, even if several are possible
  Dim3 grid{}, block{};
  std::uint32_t shared_bytes = 0;            // dynamic shared memory
  std::string assertion;                     // condition or message of the failed device assertion
  std::string device_function, device_file;  // where the exception or the assertion occurred
  std::string exception;                     // "Warp Misaligned Address"
  std::vector<Argument> arguments;
  std::string directory;  // paths below this directory are shown relative to it
  std::optional<Access> access;
  std::string source;                     // text of the true line, without its comment
  std::vector<PythonFrame> python;        // innermost first
  bool captured_by_other_thread = false;  // for a broken capture: another thread began it
  std::uint32_t forked_from = 0;          // pid of the process that forked this one after using CUDA; 0 if unknown
  std::string forked_at;                  // "train.py:39, start"
  std::uint32_t failed_elsewhere = 0;     // pid of a process of the same job that failed earlier; 0 if unknown
  bool vanished_when_serialised = false;  // a plain rerun failed, but a rerun that waited for this operation did not
  bool may_be_another_client = false;     // the GPU is shared under MPS, and it is unknown whose work failed
  std::string foreign_exception;          // GPU exception in a rerun, in code that the program had not loaded
  std::map<std::string, std::string> versions;  // "driver", "cuda", "torch", …
  std::vector<std::string> gpus;
  std::map<std::string, std::string> environment;  // the variables that CUDA reads; unset ones are absent
};

}  // namespace cudadiag::causes
