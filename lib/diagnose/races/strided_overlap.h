// Finds the bytes that two tensors share. Comparing their ranges is not enough: two columns of a matrix share no byte.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "diagnose/facts/model.h"

namespace cudadiag::diagnose {

// Pieces of `width` bytes at begin + i0 * pitch0 + i1 * pitch1 + …, innermost dimension first. Dimensions without gaps
// are merged, so `width` may cover many elements.
struct StridedBytes {
  struct Dimension {
    std::uint64_t count = 1, pitch = 0;  // `pitch` is in bytes
  };
  std::uint64_t begin = 0, width = 0;
  std::vector<Dimension> dimensions;

  std::uint64_t end() const;  // returns one past the last byte
};

// Returns nullopt if the type, shape or strides are unknown, or if elements of the tensor overlap.
std::optional<StridedBytes> strided_bytes(const RaceTensor& tensor);

// Returns nullopt if there are too many pieces to compare. If the tensors do not overlap, `bytes` is 0.
std::optional<RaceOverlap> overlap(const StridedBytes& a, const StridedBytes& b);

}  // namespace cudadiag::diagnose
