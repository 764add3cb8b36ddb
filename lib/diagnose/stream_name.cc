#include "diagnose/stream_name.h"

#include <fmt/core.h>

namespace cudadiag::diagnose {
namespace {

// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD of cuda.h.
constexpr std::uint64_t kLegacyStream = 0x1;
constexpr std::uint64_t kPerThreadStream = 0x2;

}  // namespace

std::string stream_name(std::uint64_t handle) {
  if (handle == kLegacyStream) return "default stream";
  if (handle == kPerThreadStream) return "per-thread default stream";
  return fmt::format("stream {:#x}", handle);
}

std::string stream_phrase(std::uint64_t handle) {
  const char* article = handle == kLegacyStream ? "the " : handle == kPerThreadStream ? "a " : "";
  return article + stream_name(handle);
}

std::string other_stream_phrase(std::uint64_t handle) {
  if (handle == kLegacyStream) return stream_phrase(handle) + " of another context";
  return handle == kPerThreadStream ? "another thread's default stream" : "another " + stream_name(handle);
}

}  // namespace cudadiag::diagnose
