// Reads and copies files in a session's folder, and reads those that a session names. The contents of a session are not
// trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace cudadiag::session {

// Returns the contents of a regular file of at most `most` bytes. Returns nullopt for a larger file, for a link, and
// for a pipe or device, which could block the reader or never end.
std::optional<std::string> read_plain_file(const std::filesystem::path& file, std::uint64_t most);

// Opens a source or a script that a session names, with the rights of the reader. Follows links, because paths to
// sources often contain some. Does not follow the links of procfs, because these lead to the reader's own open files.
// The result is invalid if the file is empty or not a regular file. It is also invalid in procfs and sysfs, where
// reading has side effects and may never end.
base::FileDescriptor open_named_file(const std::filesystem::path& file);
std::optional<std::string> read_named_file(const std::filesystem::path& file, std::uint64_t most);

// ---- sparse files
//
// These functions read and copy files without reading their holes, which would allocate memory for them. They also
// leave out pages of zeros: most of a recording is zero, and copying zeros would allocate memory too.

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
