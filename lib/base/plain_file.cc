#include "base/plain_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/read_part.h"

namespace cudadiag::base {

FileDescriptor open_plain(const std::filesystem::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return {};
  if (S_ISREG(status.st_mode)) return file;
  errno = 0;
  return {};
}

std::uint64_t size_of(const FileDescriptor& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::string read_start(const std::filesystem::path& path, std::uint64_t most) {
  const FileDescriptor file = open_plain(path);
  return file.valid() ? read_part(file.get(), 0, std::min(most, size_of(file))) : "";
}

}  // namespace cudadiag::base
