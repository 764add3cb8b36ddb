// A finding and its report, as the rules for causes read them. The other facts describe the process and the run, and no
// report has them. A rule does not match if it needs a fact that is unknown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "diagnose/facts/model.h"

namespace cudadiag::causes {

using diagnose::Access;
using diagnose::Argument;
using diagnose::Number;
using diagnose::RanksDifference;
using diagnose::Relation;
using diagnose::WaitsFor;
using session::Work;
using Dim3 = std::array<std::uint32_t, 3>;

// The APIs that the process used. Advice names the calls of these APIs.
struct Dialect {
  bool driver = false;  // calls the driver API directly; false if it uses the runtime, or if this is unknown
  bool python = false;
  bool torch = false;
};

// How the ranks of a job differ at a collective that hangs.
struct RanksInWords {
  std::size_t ranks = 0;
  RanksDifference difference = RanksDifference::none;
  std::string missing;  // "rank 1": the ranks that have not reached the collective
  std::string calls;    // calls of the other ranks: "rank 0: train.py:40, step"
};

struct Case {
  const diagnose::Finding& finding;
  const diagnose::Diagnosis& report;

  Dialect dialect{};
  std::map<std::string, std::string> environment{};  // the variables that CUDA reads; unset ones are absent
  std::uint32_t forked_from = 0;      // pid of the process that forked this one after using CUDA; 0 if unknown
  std::optional<Work> stuck_in{};     // for a hang: the kind of operation; nullopt if several kinds are possible
  std::optional<RanksInWords> job{};  // for a hang in a collective of several ranks, if the ranks' calls are known
  bool asked_for_dump = false;        // a rerun tried to get a GPU core dump
  // True if the cause may be something other than the graph's pointer to freed memory. Another operation may have
  // failed, or the pointer may be a stale field of a structure.
  bool pointer_in_doubt = false;
  bool vanished_when_serialised = false;  // a plain rerun failed, but a rerun that waited for this operation did not
  bool may_be_another_client = false;     // the GPU is shared under MPS, and it is unknown whose work failed
  bool dump_begun = false;                // the driver was writing a GPU core dump of an exception at the end
  bool lost_dump = false;                 // the driver was to write a GPU core dump, but there is none that can be read

  // GPU work failed; if false, a call was refused.
  bool asynchronous() const { return analyse::is_asynchronous(finding.kind); }
  // The facts below are empty if they are unknown.
  const diagnose::RefusedCall& refused() const;
  const std::string& call() const { return refused().name; }
  const diagnose::Launch& launch() const;
  const diagnose::Device& device() const;
  const std::string& kernel() const;     // demangled; empty if several kernels are possible
  const std::string& assertion() const;  // condition or message of the failed device assertion
  bool is_launch() const { return launch().operation == Work::kernel && !asynchronous(); }
  bool in_graph() const { return launch().operation == Work::graph || launch().graph_node; }
  std::string source() const;  // text of the true line, without its comment
  // The process of the same job that failed before this one; 0 if none is known.
  std::uint32_t failed_elsewhere() const;
};

// Returns the CUDA library through which the program called CUDA, such as "libcublas.so.13"; empty if none.
std::string cuda_library(const symbolize::SourceStack& stack);

}  // namespace cudadiag::causes
