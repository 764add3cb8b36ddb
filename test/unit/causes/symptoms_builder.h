// Builds the symptoms of a failure by hand. Outside the tests, lib/diagnose derives symptoms from a session.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "diagnose/causes/explain.h"

namespace cudadiag::causes {

constexpr const char* kAten = "/pytorch/aten/src/ATen/native/cuda/";

// Builds a failed assertion in a PyTorch kernel.
inline Symptoms pytorch_assert(const std::string& condition, const std::string& file = "IndexKernel.cu") {
  Symptoms symptoms;
  symptoms.code = 710;
  symptoms.asynchronous = true;
  symptoms.operation = Work::kernel;
  symptoms.assertion = condition;
  symptoms.device_file = kAten + file;
  symptoms.versions = {{"torch", "2.11.0"}};
  return symptoms;
}

inline Symptoms refused_call(std::uint32_t code, const std::string& call) {
  Symptoms symptoms;
  symptoms.code = code;
  symptoms.call = call;
  symptoms.operation = Work::call;
  return symptoms;
}

inline Symptoms refused_launch(std::uint32_t code, Dim3 grid, Dim3 block, std::uint32_t shared = 0) {
  Symptoms symptoms = refused_call(code, "cudaLaunchKernel");
  symptoms.operation = Work::kernel;
  symptoms.launch = true;
  symptoms.grid = grid;
  symptoms.block = block;
  symptoms.shared_bytes = shared;
  return symptoms;
}

inline Symptoms gpu_error(std::uint32_t code, const std::string& kernel = "scale(float*)") {
  Symptoms symptoms;
  symptoms.code = code;
  symptoms.asynchronous = true;
  symptoms.operation = Work::kernel;
  symptoms.kernel = kernel;
  return symptoms;
}

inline Argument index_argument(const std::string& name, std::int64_t min, std::int64_t max, std::int64_t bound,
                               std::uint64_t outside, std::vector<std::int64_t> at, std::int64_t value) {
  Argument argument;
  argument.name = name;
  argument.origin = session::ValueOrigin::variable;
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
  argument.origin = session::ValueOrigin::kernel;
  argument.pointer = pointer;
  if (!state.empty()) {
    argument.allocation.emplace();
    argument.allocation->bytes = bytes;
    argument.allocation->offset = offset;
    argument.allocation->is_freed = state == "freed";
  }
  return argument;
}

inline std::string id_of(const Symptoms& symptoms) {
  const auto cause = explain(symptoms);
  return cause ? cause->id : "none";
}

inline std::string text_of(const Symptoms& symptoms) {
  const auto cause = explain(symptoms);
  return cause ? cause->text : "";
}

}  // namespace cudadiag::causes
