// Builds cases for the rules by hand. Outside the tests, lib/diagnose builds them from a session.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "diagnose/causes/rule.h"

namespace cudadiag::causes {

constexpr const char* kAten = "/pytorch/aten/src/ATen/native/cuda/";

// A finding with all parts that the rules read, set by hand.
struct Failed {
  explicit Failed(std::uint32_t code = 0, analyse::Kind kind = analyse::Kind::sync_error) {
    finding.code = code;
    finding.kind = kind;
    finding.launch.emplace();
    finding.refused.emplace();
    finding.device.emplace().assertions = 1;
  }

  operator Case() const {  // NOLINT: a case refers to the finding and the report
    Case failed{finding, report};
    failed.dialect = dialect;
    failed.environment = environment;
    failed.forked_from = forked_from;
    failed.stuck_in = stuck_in;
    failed.job = job;
    failed.asked_for_dump = asked_for_dump;
    failed.pointer_in_doubt = pointer_in_doubt;
    failed.vanished_when_serialised = vanished_when_serialised;
    failed.may_be_another_client = may_be_another_client;
    failed.reads_host_memory = reads_host_memory;
    failed.launch_message = launch_message;
    return failed;
  }

  diagnose::Finding finding;
  diagnose::Diagnosis report;
  // As in Case.
  Dialect dialect;
  std::map<std::string, std::string> environment;
  std::uint32_t forked_from = 0;
  std::optional<Work> stuck_in;
  std::optional<RanksInWords> job;
  bool asked_for_dump = false, pointer_in_doubt = false, vanished_when_serialised = false;
  bool may_be_another_client = false, reads_host_memory = false;
  std::string launch_message;
};

// Builds a failed assertion in a PyTorch kernel.
inline Failed pytorch_assert(const std::string& condition, const std::string& file = "IndexKernel.cu") {
  Failed failed(710, analyse::Kind::async_error);
  failed.finding.launch->operation = Work::kernel;
  failed.finding.device->message = condition;
  failed.finding.device->file = kAten + file;
  failed.report.torch = "2.11.0";
  return failed;
}

inline Failed refused_call(std::uint32_t code, const std::string& call) {
  Failed failed(code);
  failed.finding.refused->name = call;
  return failed;
}

inline Failed refused_launch(std::uint32_t code, Dim3 grid, Dim3 block, std::uint32_t shared = 0) {
  Failed failed = refused_call(code, "cudaLaunchKernel");
  failed.finding.launch->operation = Work::kernel;
  failed.finding.launch->grid = grid;
  failed.finding.launch->block = block;
  failed.finding.launch->shared_bytes = shared;
  return failed;
}

inline Failed gpu_error(std::uint32_t code, const std::string& kernel = "scale(float*)") {
  Failed failed(code, analyse::Kind::async_error);
  failed.finding.launch->operation = Work::kernel;
  failed.finding.launch->kernel = kernel;
  return failed;
}

inline Argument index_argument(const std::string& name, std::int64_t min, std::int64_t max, std::int64_t bound,
                               std::uint64_t outside, std::vector<std::int64_t> at, std::int64_t value) {
  Argument argument;
  argument.name = name;
  argument.origin = session::NameSource::variable;
  argument.dtype = "int64";
  argument.min = min;
  argument.max = max;
  argument.bound = bound;
  argument.outside = outside;
  argument.first_outside = std::move(at);
  argument.first_value = value;
  return argument;
}

// Builds a pointer argument. `name` is "parameter 2", "parameter 2 at byte 8", or an operator's parameter name.
inline Argument pointer_argument(const std::string& name, std::uint64_t pointer, const std::string& state,
                                 std::uint64_t bytes = 4096, std::uint64_t offset = 0) {
  Argument argument;
  argument.name = name;
  std::sscanf(name.c_str(), "parameter %u at byte %u", &argument.parameter, &argument.parameter_byte);
  argument.origin = session::NameSource::kernel;
  argument.pointer = pointer;
  if (!state.empty()) {
    argument.allocation.emplace();
    argument.allocation->bytes = bytes;
    argument.allocation->offset = offset;
    argument.allocation->is_freed = state == "freed";
  }
  return argument;
}

inline std::string id_of(const Case& failed) {
  const auto cause = explain(failed);
  return cause ? cause->id : "none";
}

inline std::string text_of(const Case& failed) {
  const auto cause = explain(failed);
  return cause ? cause->text : "";
}

}  // namespace cudadiag::causes
