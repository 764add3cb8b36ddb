// The relation of an access's address to the intended memory.
#pragma once

#include <cstdint>

namespace cudadiag::diagnose {

enum class Relation : std::uint8_t {
  unknown,
  past_end,
  before,
  inside,
  freed,
  null,
  never_allocated,
  other_device,
  host,
  misaligned
};

inline constexpr std::uint64_t kLowestAddress = std::uint64_t{1} << 32;  // CUDA never hands out addresses below it

}  // namespace cudadiag::diagnose
