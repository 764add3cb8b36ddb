// Which bytes two tensors have in common: not only their ranges, as two columns of one matrix share none.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "diagnose/diagnosis.h"

namespace cudadiag::diagnose {

// Elements of `width` bytes at begin + i0 * pitch0 + i1 * pitch1 + …; the dimensions from the innermost, merged where
// they follow each other without a gap, so that `width` may be many elements.
struct StridedBytes {
  struct Dimension {
    std::uint64_t count = 1, pitch = 0;  // in bytes
  };
  std::uint64_t begin = 0, width = 0;
  std::vector<Dimension> dimensions;

  std::uint64_t end() const;  // of the last element
};

// Nothing: the type, a shape or a stride is not known, or elements of the tensor lie on each other.
std::optional<StridedBytes> strided_bytes(const RaceTensor& tensor);

// Nothing: there are too many pieces to compare. No bytes: they do not overlap.
std::optional<RaceOverlap> overlap(const StridedBytes& a, const StridedBytes& b);

}  // namespace cudadiag::diagnose
