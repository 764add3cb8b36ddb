#include "session/plain_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#include <cerrno>
#include <utility>

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

}  // namespace cudadiag::session
