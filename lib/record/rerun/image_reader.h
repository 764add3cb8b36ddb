// Reads images of device code in memory: their sizes, their code for one GPU, and the names of the global variables
// that they define. An image belongs to the program and may be damaged, so every offset in it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/saved_launch.h"

namespace cudadiag::record {

// Finds the size of a device code image in memory from the image's own header. The driver calls that load an image have
// no argument for the size.
struct ImageExtent {
  const std::byte* begin = nullptr;  // null if the form of the image is unknown
  std::size_t size = 0;
  wire::saved_launch::Image form{};
};

// `code` is the argument of cuModuleLoadData or cuLibraryLoadData: a cubin, a fat binary, a structure that refers to a
// fat binary, or NUL-terminated text. The driver has just accepted it, so its headers are readable.
ImageExtent image_extent(const void* code);

inline constexpr std::size_t kMostArchitectures = 64;
// Calls `visit` with each cubin of a cubin or fat binary that a GPU of one of these architectures (such as 90) would
// run. Passes a compressed cubin together with the header of its entry. Finds none in text.
void each_cubin(std::span<const std::byte> image, std::span<const std::uint32_t> architectures,
                void (*visit)(std::span<const std::byte> cubin, void* data), void* data);

// The names of global variables. The driver can find a variable by its name, but cannot list the names.
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
