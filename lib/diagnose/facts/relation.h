// How the address of an access relates to the memory that the access was meant for.
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

inline constexpr std::uint64_t kLowestAddress = std::uint64_t{1} << 32;  // CUDA hands out no lower address

}  // namespace cudadiag::diagnose
