#include "diagnose/stream_name.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

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

std::string StreamLetters::name(const std::string& text) {
  constexpr std::string_view kBefore = "stream ", kHandle = "0x";
  constexpr std::size_t kLetters = 26;
  std::string named;
  std::size_t done = 0;
  for (std::size_t at = text.find("stream 0x"); at != text.npos; at = text.find("stream 0x", done)) {
    const std::size_t begin = at + kBefore.size();
    const std::size_t end = std::min(text.size(), text.find_first_not_of("0123456789abcdef", begin + kHandle.size()));
    const std::string handle = text.substr(begin, end - begin);
    const auto found = std::find(handles_.begin(), handles_.end(), handle);
    const auto number = static_cast<std::size_t>(found - handles_.begin());
    if (found == handles_.end()) handles_.push_back(handle);
    named += text.substr(done, begin - done) + static_cast<char>('A' + number % kLetters);
    if (number >= kLetters) named += std::to_string(number / kLetters);
    done = end;
  }
  return named + text.substr(done);
}

}  // namespace cudadiag::diagnose
