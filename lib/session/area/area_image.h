// A private copy of a stored area. The reader is not affected if the file shrinks or changes later.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "session/session.h"

namespace cudadiag::session {

class AreaImage {
 public:
  // Reads the file. Holes and zeros in the file take up no memory in the copy.
  static base::Result<AreaImage> load(const std::filesystem::path& file);

  AreaImage(AreaImage&& other) noexcept;
  AreaImage& operator=(AreaImage&& other) noexcept;
  ~AreaImage();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  AreaImage(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cudadiag::session
