// The names of the variables that an image of device code defines, in its own memory: the driver finds a variable by its
// name, and does not list them.
//
// An image is the program's, and may be damaged: no offset in it is believed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/saving/image_extent.h"

namespace cudadiag::record {

struct NameList {
  static constexpr std::size_t kMostBytes = std::size_t{1} << 18;

  char text[kMostBytes];  // each with a zero at its end
  std::size_t used;
  bool cut;  // some did not fit

  void add(const char* name, std::size_t length);
};

// `architecture`: of the GPU, 90. A fat binary's code for it is read, or else all of its code. False: none could be read.
// Code that is compressed by Zstandard is read if libzstd.so.1 is installed.
bool list_globals(const ImageExtent& image, std::uint32_t architecture, NameList& names);

}  // namespace cudadiag::record
