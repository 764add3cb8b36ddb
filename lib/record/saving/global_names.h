// The names of the global variables that an image of device code defines. The driver can find a variable by its name,
// but cannot list the names.
//
// An image belongs to the program and may be damaged, so every offset in it is checked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/saving/image_extent.h"

namespace cudadiag::record {

struct NameList {
  static constexpr std::size_t kMostBytes = std::size_t{1} << 18;

  char text[kMostBytes];  // NUL-terminated names
  std::size_t used;
  bool cut;  // whether some names did not fit

  void add(const char* name, std::size_t length);
};

// `architecture` is the GPU's architecture, such as 90. In a fat binary, only code for this architecture is read. If
// the binary has no such code, all code is read. Returns false if no code could be read. Compressed code cannot be
// read without the system's liblz4.so.1 or libzstd.so.1.
bool list_globals(const ImageExtent& image, std::uint32_t architecture, NameList& names);

}  // namespace cudadiag::record
