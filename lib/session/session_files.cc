#include "session/session_files.h"

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace cudadiag::session {
namespace {

int open_without_magic_links(const std::filesystem::path& file, int flags) {
#if __has_include(<linux/openat2.h>)
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_NO_MAGICLINKS;
  const long opened = ::syscall(SYS_openat2, AT_FDCWD, file.c_str(), &how, sizeof how);
  // Uses open() if openat2 is missing (before Linux 5.6) or if a system call filter forbids it.
  if (opened >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(opened);
#endif
  const std::string plain = file.lexically_normal().string();
  if (plain.starts_with("/proc/") || plain.starts_with("/dev/")) return errno = ELOOP, -1;
  return ::open(file.c_str(), flags);
}

bool is_on_disk(int file) {
  struct statfs system {};
  if (::fstatfs(file, &system) != 0) return false;
  return system.f_type != PROC_SUPER_MAGIC && system.f_type != SYSFS_MAGIC;
}

std::optional<std::string> read(const base::FileDescriptor& descriptor, std::uint64_t most) {
  if (!descriptor.valid()) return std::nullopt;
  const std::uint64_t size = base::size_of(descriptor);
  if (size > most) return std::nullopt;
  // Ignores data that is appended while the file is being read.
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(descriptor.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

}  // namespace

base::FileDescriptor open_named_file(const std::filesystem::path& file) {
  if (file.empty()) return {};
  base::FileDescriptor descriptor(open_without_magic_links(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  const bool plain = descriptor.valid() && ::fstat(descriptor.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_size > 0 && is_on_disk(descriptor.get());
  return plain ? std::move(descriptor) : base::FileDescriptor();
}

std::optional<std::string> read_plain_file(const std::filesystem::path& file, std::uint64_t most) {
  return read(base::open_plain(file), most);
}

std::optional<std::string> read_named_file(const std::filesystem::path& file, std::uint64_t most) {
  return read(open_named_file(file), most);
}

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kChunk = 64 * kPage;

bool is_zero(std::span<const std::byte> bytes) {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

bool write_all(int file, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return true;
}

// Returns the offset of the next data at or after `at`; `end` if there is none. On a file system without holes, the
// whole file is data.
std::uint64_t next_data(int file, std::uint64_t at, std::uint64_t end) {
  const off_t data = ::lseek(file, static_cast<off_t>(at), SEEK_DATA);
  if (data < 0) return errno == ENXIO ? end : at;
  return std::min<std::uint64_t>(static_cast<std::uint64_t>(data), end);
}

std::uint64_t next_hole(int file, std::uint64_t at, std::uint64_t end) {
  const off_t hole = ::lseek(file, static_cast<off_t>(at), SEEK_HOLE);
  return hole < 0 ? end : std::min<std::uint64_t>(static_cast<std::uint64_t>(hole), end);
}

}  // namespace

bool for_each_page(int file, std::uint64_t begin, std::uint64_t end,
                   const std::function<bool(std::uint64_t, std::span<const std::byte>)>& take) {
  std::vector<std::byte> buffer(kChunk);
  for (std::uint64_t at = next_data(file, begin, end); at < end; at = next_data(file, at, end)) {
    const std::uint64_t hole = next_hole(file, at, end);
    if (hole <= at) return true;
    while (at < hole) {
      const std::size_t wanted = std::min(kChunk, hole - at);
      const ssize_t got = ::pread(file, buffer.data(), wanted, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return false;
      if (got == 0) return true;
      const auto data = std::span<const std::byte>(buffer).first(static_cast<std::size_t>(got));
      for (std::size_t done = 0; done < data.size(); done += kPage) {
        const auto page = data.subspan(done, std::min<std::size_t>(kPage, data.size() - done));
        if (!is_zero(page) && !take(at - begin + done, page)) return false;
      }
      at += static_cast<std::uint64_t>(got);
    }
  }
  return true;
}

bool copy_sparse(int source, std::uint64_t begin, std::uint64_t end, int target) {
  if (::ftruncate(target, static_cast<off_t>(end - begin)) != 0) return false;
  return for_each_page(source, begin, end, [&](std::uint64_t offset, std::span<const std::byte> page) {
    return write_all(target, page, offset);
  });
}

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
