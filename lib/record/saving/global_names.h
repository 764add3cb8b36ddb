// The names of the variables that an image of device code defines in its own memory. The driver finds a variable by its
// name, but cannot list the names.
//
// An image belongs to the program and may be damaged, so every offset in it is checked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/saving/image_extent.h"

namespace cudadiag::record {

struct NameList {
  static constexpr std::size_t kMostBytes = std::size_t{1} << 18;

  char text[kMostBytes];  // each terminated with a zero
  std::size_t used;
  bool cut;  // some did not fit

  void add(const char* name, std::size_t length);
};

// `architecture` is that of the GPU, such as 90. In a fat binary, only code for it is read, or all code if there is
// none. Returns false if nothing could be read. Code compressed with Zstandard needs an installed libzstd.so.1.
bool list_globals(const ImageExtent& image, std::uint32_t architecture, NameList& names);

}  // namespace cudadiag::record
