// Parses the messages of the exceptions that CuPy and JAX raise when their memory pool rejects a request.
#pragma once

#include <cstdint>
#include <string_view>

namespace cudadiag::record {

enum class Refuser : std::uint8_t { none, cupy, jax };

// `module` and `type` are the exception class's module and name: "cupy.cuda.memory", "OutOfMemoryError".
Refuser refuser_of(std::string_view module, std::string_view type);

struct RefusedRequest {
  const char* pool = nullptr;  // a name from wire/error.h; null if the pool did not reject a request
  std::uint64_t bytes = 0;     // JAX may round the number to a hundredth of its unit
};

// If CuPy's message shows that the GPU itself ran out of memory, the result names no pool: the failed CUDA call has
// already been recorded.
RefusedRequest refused_request(Refuser refuser, std::string_view message);

}  // namespace cudadiag::record
