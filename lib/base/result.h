// A recoverable error of ours, as a value. Not the failed CUDA call of a program: that is session::FailedCall.
#pragma once

#include <string>
#include <variant>

namespace cudadiag::base {

struct Error {
  std::string what;  // one sentence: what happened, to what
  std::string hint;  // what the user can do; may be empty
};

template <typename T>
using Result = std::variant<T, Error>;

}  // namespace cudadiag::base
