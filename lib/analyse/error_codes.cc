#include "analyse/error_codes.h"

#include <algorithm>
#include <iterator>

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

namespace {

struct Probe {
  std::string_view call;  // a prefix that matches all versions of an entry point
  std::uint32_t code;
};

constexpr Probe kProbes[] = {
    {"", 4},
    {"", 5},
    {"", 6},
    {"", 7},
    {"", 8},  // 4: shutting down; 5 to 8: profiler switches
    {"", 600},
    {"", 704},
    {"", 708},
    {"", 709},                     // 600: not ready; 704, 708: already enabled or active; 709: shutting down
    {"cuPointerGetAttribute", 1},  // is this a device pointer?
    {"cudaPointerGetAttributes", 1},
    {"cuCtxGetDevice", 201},  // is there a context yet?
    {"cuCtxGetFlags", 201},
    {"cuCtxGetApiVersion", 201},
    {"cuGetProcAddress", 500},  // does the driver or module have this symbol?
    {"cudaGetDriverEntryPoint", 500},
    {"cuModuleGet", 500},
    {"cuLibraryGet", 500},
    {"cuStreamIsCapturing", 906},  // a query of the default stream; does not affect the capture
    {"cudaStreamIsCapturing", 906},
    {"cuStreamGetCaptureInfo", 906},
    {"cudaStreamGetCaptureInfo", 906},
    {"cuGraphExecUpdate", 910},  // can the graph be updated, or must it be instantiated again?
    {"cudaGraphExecUpdate", 910},
};

constexpr std::uint32_t kNoDevice[] = {3, 34, 35, 100, 803, 804, 999};
constexpr std::string_view kStarts[] = {"cuInit", "cudaGetDeviceCount", "cuDeviceGetCount", "cudaSetDevice"};

}  // namespace

bool is_benign(const session::FailedCall& error) {
  return std::ranges::any_of(kProbes, [&](const Probe& probe) {
    return error.code == probe.code && (error.call.starts_with(probe.call) || error.outer.starts_with(probe.call));
  });
}

bool found_no_function(const session::FailedCall& error) {
  constexpr std::uint32_t kNotFound = 500;
  const auto asks = [&](const char* part) { return error.call.find(part) != std::string::npos; };
  return error.code == kNotFound && (asks("GetFunction") || asks("GetKernel"));
}

bool found_nothing_to_do(const session::FailedCall& error) {
  return error.code == wire::cuda::kPeerAccessAlreadyEnabled || error.code == wire::cuda::kSetOnActiveProcess ||
         (error.code == wire::cuda::kGraphExecUpdateFailure && is_benign(error));
}

bool found_no_device(const session::FailedCall& error, const session::ProcessRecord& record) {
  const auto is_unused = [](const session::Context& context) { return context.state == wire::context::State::free; };
  // A process that has had a context found a GPU. Later calls may return the same codes for other reasons.
  if (std::ranges::find(kNoDevice, error.code) == std::end(kNoDevice) ||
      !std::ranges::all_of(record.contexts, is_unused))
    return false;
  const auto starts_cuda = [](const std::string& call) {
    const auto begins = [&](std::string_view start) { return call.starts_with(start); };
    return session::written_name(call) == "cudaFree" || std::ranges::any_of(kStarts, begins);
  };
  return starts_cuda(error.call) || starts_cuda(error.outer);
}

bool is_worth_looking_at(const session::FailedCall& error, const session::ProcessRecord& record) {
  if (error.of_call != 0) {
    const auto of = std::ranges::find(record.errors, error.of_call, &session::FailedCall::serial);
    return of != record.errors.end() && of->of_call == 0 && is_worth_looking_at(*of, record);
  }
  return !(error.flags & wire::error::kSticky) && !is_benign(error);
}

}  // namespace cudadiag::analyse
