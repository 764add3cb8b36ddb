#include "diagnose/dialect.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>

namespace cudadiag::diagnose {
namespace {

std::string file_name(const symbolize::NativeFrame& frame) {
  return std::filesystem::path(frame.module).filename().string();
}

// Returns true if the frame is in the CUDA runtime. A statically linked runtime is part of the program's own module, so
// only the function's name identifies it. A demangled name with a return type, such as "cudaError_t check(int)", is not
// from the runtime.
bool is_runtime(const symbolize::NativeFrame& frame) {
  const std::string& function = frame.function;
  const bool plain =
      std::all_of(function.begin(), function.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return file_name(frame).starts_with("libcudart") ||
         (plain && function.size() > 4 && function.starts_with("cuda") && std::isupper(function[4]) != 0);
}

// Returns whether the user's own code calls the driver, without a library in between.
bool calls_driver(const symbolize::SourceStack& stack) {
  const auto caller = std::find_if(stack.native.begin(), stack.native.end(), [](const auto& frame) {
    return frame.user || (!frame.module.empty() && !file_name(frame).starts_with("libcuda.so"));
  });
  return caller != stack.native.end() && caller->user && !caller->file.empty();
}

}  // namespace

causes::Dialect dialect_of(const session::Process& process, const symbolize::SourceStack& stack, bool torch) {
  const auto& errors = process.record.errors;
  const auto by_runtime = [](const session::FailedCall& error) {
    return !error.outer.empty() || error.domain == wire::error::Domain::runtime;
  };
  const bool runtime = std::any_of(stack.native.begin(), stack.native.end(), is_runtime) ||
                       std::any_of(errors.begin(), errors.end(), by_runtime);
  causes::Dialect dialect;
  dialect.driver = !runtime && (!errors.empty() || calls_driver(stack));
  dialect.python = !stack.python.empty();
  dialect.torch = torch;
  return dialect;
}

}  // namespace cudadiag::diagnose
