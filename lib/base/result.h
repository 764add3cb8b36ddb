// A result that is either a value or a recoverable error of cudadiag itself. A CUDA call that failed in the program is
// a session::FailedCall instead.
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
