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

}  // namespace cudadiag::diagnose
