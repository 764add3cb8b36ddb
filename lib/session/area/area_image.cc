#include "session/area/area_image.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/plain_file.h"
#include "session/area/sparse_copy.h"

namespace cudadiag::session {
namespace {

constexpr std::uint64_t kMostBytes = 1u << 30;

base::Error unreadable(const std::filesystem::path& file, const char* why) {
  return {"cannot read " + file.string() + ": " + why, ""};
}

}  // namespace

base::Result<AreaImage> AreaImage::load(const std::filesystem::path& file) {
  const base::FileDescriptor descriptor = base::open_plain(file);
  if (!descriptor.valid()) return unreadable(file, errno == 0 ? "it is not a regular file" : std::strerror(errno));
  const std::uint64_t size = base::size_of(descriptor);
  if (size == 0) return unreadable(file, "it is empty");
  if (size > kMostBytes) return unreadable(file, "it is larger than any recording");

  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return unreadable(file, std::strerror(errno));
  AreaImage image(static_cast<std::byte*>(memory), size);
  const bool whole =
      for_each_page(descriptor.get(), 0, size, [&](std::uint64_t offset, std::span<const std::byte> page) {
        std::memcpy(image.data_ + offset, page.data(), page.size());
        return true;
      });
  if (!whole) return unreadable(file, std::strerror(errno));
  return image;
}

AreaImage::AreaImage(AreaImage&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AreaImage& AreaImage::operator=(AreaImage&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

AreaImage::~AreaImage() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace cudadiag::session
