// Reads and copies sparse files without reading their holes, which would allocate memory for them. Also leaves out pages
// of zeros: most of a recording is zero, and copying zeros would allocate memory too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "session/session.h"

namespace cudadiag::session {

// Calls `take` with each page in [begin, end) of `file` that is not zero, and with the page's offset from `begin`. The
// last page may be shorter. `take` may return false to stop. Returns false with errno set if reading failed.
bool for_each_page(int file, std::uint64_t begin, std::uint64_t end,
                   const std::function<bool(std::uint64_t offset, std::span<const std::byte> page)>& take);

// Copies [begin, end) of `source` to the empty file `target`, without pages of zeros. On failure, returns false with
// errno set.
bool copy_sparse(int source, std::uint64_t begin, std::uint64_t end, int target);

// A private copy of a stored area. The reader is not affected if the file shrinks or changes later.
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
