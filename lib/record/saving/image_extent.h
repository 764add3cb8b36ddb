// Finds the size of a device code image in memory from the image's own header. The driver calls that load an image have
// no argument for the size.
#pragma once

#include <cstddef>

#include "wire/rerun/saved_launch.h"

namespace cudadiag::record {

struct ImageExtent {
  const std::byte* begin = nullptr;  // null if the form of the image is unknown
  std::size_t size = 0;
  wire::saved_launch::Image form{};
};

// `code` is the argument of cuModuleLoadData or cuLibraryLoadData: a cubin, a fat binary, a structure that refers to a
// fat binary, or NUL-terminated text. The driver has just accepted it, so its headers are readable.
ImageExtent image_extent(const void* code);

}  // namespace cudadiag::record
