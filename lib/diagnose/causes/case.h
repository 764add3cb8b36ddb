// A finding and its report as the rules for causes read them, and the facts that the rules' texts contain.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/facts/place.h"
#include "diagnose/facts/report_model.h"

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

// A finding and its report, as the rules for causes read them. The other facts describe the process and the run, and no
// report has them. A rule does not match if it needs a fact that is unknown.
struct Case {
  const diagnose::Finding& finding;
  const diagnose::Diagnosis& report;

  Dialect dialect{};
  std::map<std::string, std::string> environment{};  // the variables that CUDA reads; unset ones are absent
  std::uint32_t forked_from = 0;      // pid of the process that forked this one after using CUDA; 0 if unknown
  std::optional<Work> stuck_in{};     // for a hang: the kind of operation; nullopt if several kinds are possible
  std::optional<RanksInWords> job{};  // for a hang in a collective of several ranks, if the ranks' calls are known
  bool is_one_rank = false;           // of a job, which a rerun would not start
  bool asked_for_dump = false;        // a rerun tried to get a GPU core dump
  // True if the cause may be something other than the graph's pointer to freed memory. Another operation may have
  // failed, or the pointer may be a stale field of a structure.
  bool pointer_in_doubt = false;
  bool vanished_when_serialised = false;  // a plain rerun failed, but a rerun that waited for this operation did not
  bool may_be_another_client = false;     // the GPU is shared under MPS, and it is unknown whose work failed
  bool reads_host_memory = false;         // the GPU accesses the host's pageable memory
  bool dump_begun = false;                // the driver was writing a GPU core dump of an exception at the end
  bool lost_dump = false;                 // the driver was to write a GPU core dump, but there is none that can be read

  // The message that torch._assert_async passed to the only launch that can have failed; empty if there is none.
  std::string launch_message{};

  // GPU work failed; if false, a call was refused.
  bool asynchronous() const { return analyse::is_asynchronous(finding.kind); }
  // The facts below are empty if they are unknown.
  const diagnose::RefusedCall& refused() const;
  const std::string& call() const { return refused().name; }
  const diagnose::Launch& launch() const;
  const diagnose::Device& device() const;
  const diagnose::Hang& hang() const;
  const std::string& kernel() const;  // demangled; empty if several kernels are possible
  // The condition or message of the failed device assertion. torch._assert_async passes the message to its kernel, so
  // the recording of the launch has it.
  const std::string& assertion() const;
  bool is_launch() const { return launch().operation == Work::kernel && !asynchronous(); }
  bool in_graph() const { return launch().operation == Work::graph || launch().graph_node; }
  std::string source() const;  // text of the true line, without its comment
  // The process of the same job that failed before this one; 0 if none is known.
  std::uint32_t failed_elsewhere() const;
};

// Returns the CUDA library through which the program called CUDA, such as "libcublas.so.13"; empty if none.
std::string cuda_library(const symbolize::SourceStack& stack);

// The facts that a rule took from a case, under the names that the rule's texts use.
struct Facts {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::size_t> proof;  // indices of the arguments that prove the cause

  void add(std::string name, std::string value) { values.emplace_back(std::move(name), std::move(value)); }
  const std::string* find(std::string_view name) const;
};

// The largest index that a signed 32-bit number can hold.
constexpr std::uint64_t kMost32 = std::numeric_limits<std::int32_t>::max();

std::string text_of(const Number& number);
double real(const Number& number);
// Formats an index, such as "[0,77]"; empty for a scalar.
std::string subscript(const std::vector<std::int64_t>& index);
// Formats a size, such as "12.0 GiB".
std::string size_text(std::uint64_t bytes);
// Adds nothing if the location is unknown.
void add_place(Facts& facts, const char* name, const std::optional<diagnose::Location>& location,
               const std::string& directory);

// Adds the fact call. Returns false if no call was refused.
bool names_refusing_call(const Case& failed, Facts& facts);
// Names the pointer of the access, which must have a parameter: "weights (parameter 2)".
std::string parameter_text(const diagnose::Access& access);
// Adds who accessed the memory and how: the facts kernel ("scale()") and verb ("reads").
void add_who(const Case& failed, Facts& facts);

// Returns the number of elements that the argument spans in memory, from the first to the last. Returns nullopt if the
// shape is unknown, has no elements, or is too large to count.
std::optional<std::uint64_t> extent(const Argument& argument);
std::uint64_t item_size(std::string_view dtype);  // 0 if unknown

// Adds facts about the argument that has indices out of bounds. The facts are argument, at, value, bound, last and
// outside. Prefers the user's own variable to the operator's parameter. Returns false if no argument has such indices.
bool add_bad_index(const Case& failed, Facts& facts);
// Like add_bad_index(), for labels. Also adds the fact from_one, such as "labels from 1 to 10". A label equal to the
// call's ignore_index is not out of bounds.
bool add_bad_label(const Case& failed, Facts& facts);
// Adds facts about the first floating-point argument that contains NaN, infinity or a value outside 0..most. The facts
// are argument and values ("12 NaN", "min -0.5, max 3.25"). Returns false if no argument contains such a value.
bool add_bad_value(const Case& failed, Facts& facts, double most);

// Returns the function of torch/nn/functional.py that the true line called, such as "embedding"; empty if unknown.
std::string_view torch_function(const Case& failed);

}  // namespace cudadiag::causes
