// Fields of structures that belong to the target. The recorder has no type for them, so it reads them by byte offset.
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
