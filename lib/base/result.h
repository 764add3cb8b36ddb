// A recoverable error of cudadiag itself, as a value. A CUDA call that failed in the program is a session::FailedCall.
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
