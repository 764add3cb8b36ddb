#include "analyse/error_codes.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace cudadiag::analyse {
namespace {

constexpr std::string_view kPlain = "The call was refused for this reason; the context can still be used.";

// Sorted by code, for the binary search of cuda_error().
constexpr CudaError kErrors[] = {
#define CUDA_CODE(code, driver_name, runtime_name, constant, traits, title, meaning) \
  {code, driver_name, runtime_name, title, meaning},
#include "wire/cuda_codes.def"
#undef CUDA_CODE
};
static_assert(std::ranges::is_sorted(kErrors, {}, &CudaError::code));

}  // namespace

CudaError cuda_error(std::uint32_t code) {
  const auto* found =
      std::lower_bound(std::begin(kErrors), std::end(kErrors), code,
                       [](const CudaError& error, std::uint32_t wanted) { return error.code < wanted; });
  if (found != std::end(kErrors) && found->code == code) return *found;
  return {code, "", "", "unknown CUDA error",
          "cudadiag knows the error codes up to CUDA 13.0: this one is newer, or is not a CUDA error at all."};
}

bool is_undocumented(std::uint32_t code) {
  const CudaError known = cuda_error(code);
  return code == cuda::kUnknown || (known.driver_name.empty() && known.runtime_name.empty());
}

bool are_of_one_kind(std::uint32_t code, std::uint32_t other) {
  const auto kind = [](std::uint32_t of) {
    const bool exception = cuda::has(of, cuda::leaves_dump);
    return std::tuple(is_sticky(of), exception, cuda::has(of, cuda::memcheck_helps),
                      !exception && cuda::has(of, cuda::only_kernels));
  };
  return code == other || (is_sticky(code) && kind(code) == kind(other));
}

}  // namespace cudadiag::analyse
