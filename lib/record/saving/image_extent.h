// How far an image of device code reaches in memory, by its own header: the driver's calls that load one get no size.
#pragma once

#include <cstddef>

#include "wire/rerun/saved_launch.h"

namespace cudadiag::record {

struct ImageExtent {
  const std::byte* begin = nullptr;  // null: not an image of a known form
  std::size_t size = 0;
  wire::saved_launch::Image form{};
};

// `code` as cuModuleLoadData and cuLibraryLoadData take it: a cubin, a fat binary, the structure that names one, or text
// with a zero at its end. The driver has just taken it, so its headers are readable.
ImageExtent image_extent(const void* code);

}  // namespace cudadiag::record
