// Fields of structures that are the target's: no type of ours is theirs, so they are read by their offsets in bytes.
#pragma once

#include <cstddef>
#include <cstring>

namespace cudadiag::record {

template <typename T>
T read_field(const std::byte* object, std::ptrdiff_t offset) {
  T value;
  std::memcpy(&value, object + offset, sizeof value);
  return value;
}

}  // namespace cudadiag::record
