// Reads fields of the program's structures by byte offset, because the recorder has no types for them.
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
