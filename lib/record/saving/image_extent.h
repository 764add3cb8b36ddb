// The size of a device code image in memory, from its own header: the driver calls that load one get no size.
#pragma once

#include <cstddef>

#include "wire/rerun/saved_launch.h"

namespace cudadiag::record {

struct ImageExtent {
  const std::byte* begin = nullptr;  // null if the image has no known form
  std::size_t size = 0;
  wire::saved_launch::Image form{};
};

// `code` is the argument of cuModuleLoadData or cuLibraryLoadData: a cubin, a fat binary, the structure that refers to
// one, or zero-terminated text. The driver has just accepted it, so its headers are readable.
ImageExtent image_extent(const void* code);

}  // namespace cudadiag::record
