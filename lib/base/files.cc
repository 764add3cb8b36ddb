#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

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

namespace {

bool is_pipe(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

// Returns whether the file is open and of a kind that can be written, with errno set otherwise.
bool is_writable(int file) {
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0) return false;
  if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) return true;
  return errno = EINVAL, false;
}

// Writes to a file that was opened with O_NONBLOCK. Gives up with errno ETIMEDOUT.
bool write_unless_stuck(int file, std::string_view text) {
  constexpr int kPatienceMs = 10'000;
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    if (written >= 0 || errno == EINTR) continue;
    pollfd writable{file, POLLOUT, 0};
    if (errno != EAGAIN) return false;
    if (::poll(&writable, 1, kPatienceMs) == 0) return errno = ETIMEDOUT, false;
  }
  return true;
}

}  // namespace

std::optional<WriteFailure> write_output_file(const std::string& path, std::string_view text, Earlier earlier) {
  const int text_before = earlier == Earlier::replaced ? O_TRUNC : O_APPEND;
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | text_before, 0666));
  if (is_writable(file.get()) && write_unless_stuck(file.get(), text)) return std::nullopt;
  const int error = errno;
  if (error == EINVAL) return WriteFailure{error, "it is not a regular file"};
  if (error == ETIMEDOUT) return WriteFailure{error, "its reader takes nothing"};
  // Opening a pipe without a reader, or a socket, fails with ENXIO.
  if (error == ENXIO) return WriteFailure{error, is_pipe(path) ? "no process reads it" : "it is not a regular file"};
  return WriteFailure{error, std::strerror(error)};
}

namespace {

// Removes a file, a link or an empty folder.
bool remove_entry(const FileDescriptor& folder, const std::string& name) {
  return ::unlinkat(folder.get(), name.c_str(), 0) == 0 || ::unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR) == 0;
}

// Lets this user list and change the folder, and move it to another folder.
void make_writable(const FileDescriptor& parent, const std::string& name) {
  ::fchmodat(parent.get(), name.c_str(), S_IRWXU, AT_SYMLINK_NOFOLLOW);
}

// Moves the subfolders of a subfolder up instead of descending into them. A tree of any depth therefore needs only two
// descriptors and little stack.
void remove_contents(const FileDescriptor& folder) {
  unsigned moved = 0;
  for (bool again = true; again;) {
    again = false;
    for (const std::string& name : names_in(folder)) {
      if (remove_entry(folder, name)) continue;
      make_writable(folder, name);
      const FileDescriptor inner = open_plain_folder(folder.get(), name.c_str());
      for (const std::string& each : names_in(inner)) {
        if (remove_entry(inner, each)) continue;
        make_writable(inner, each);
        const std::string up = "removed-" + std::to_string(moved++);
        // If the name is taken, the next round tries the next name.
        again |= ::renameat(inner.get(), each.c_str(), folder.get(), up.c_str()) == 0 || errno == ENOTEMPTY ||
                 errno == EEXIST || errno == ENOTDIR;
      }
      remove_entry(folder, name);
    }
  }
}

}  // namespace

FileDescriptor open_plain_folder(int parent, const char* name) {
  return FileDescriptor(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> names_in(const FileDescriptor& folder) {
  std::vector<std::string> names;
  // Opens the folder again, because a duplicated descriptor would share the position in the listing.
  const int again = folder.valid() ? ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (again < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(again), ::closedir);
  if (!listing) return ::close(again), names;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  for (const std::string& name : names_in(open_plain_folder(AT_FDCWD, folder.c_str())))
    entries.push_back(folder / name);
  return entries;
}

FileDescriptor create_in(const FileDescriptor& folder, const std::string& name) {
  return FileDescriptor(
      ::openat(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
}

int replace_file(const FileDescriptor& folder, const std::string& name, const std::function<bool(int)>& write) {
  const std::string draft = name + ".new";
  ::unlinkat(folder.get(), draft.c_str(), 0);
  const FileDescriptor file = create_in(folder, draft);
  if (file.valid() && write(file.get()) && ::renameat(folder.get(), draft.c_str(), folder.get(), name.c_str()) == 0) {
    return 0;
  }
  const int error = errno;
  if (file.valid()) ::unlinkat(folder.get(), draft.c_str(), 0);
  return error;
}

bool is_entry(const FileDescriptor& opened, const FileDescriptor& parent, const std::string& name) {
  struct stat status {
  }, named{};
  return ::fstat(opened.get(), &status) == 0 &&
         ::fstatat(parent.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && status.st_dev == named.st_dev &&
         status.st_ino == named.st_ino;
}

void remove_folder(const FileDescriptor& folder) {
  if (!folder.valid()) return;
  ::fchmod(folder.get(), S_IRWXU);
  remove_contents(folder);
  const FileDescriptor parent(::openat(folder.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::error_code error;
  const std::string name = std::filesystem::read_symlink(path_through(folder), error).filename().string();
  if (is_entry(folder, parent, name)) ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
}

void remove_from(const FileDescriptor& folder, const std::string& name) {
  if (!remove_entry(folder, name)) remove_folder(open_plain_folder(folder.get(), name.c_str()));
}

void remove_file(const FileDescriptor& file, const std::filesystem::path& path) {
  const std::filesystem::path place = path.has_parent_path() ? path.parent_path() : ".";
  const FileDescriptor parent(::open(place.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name = path.filename().string();
  if (is_entry(file, parent, name)) ::unlinkat(parent.get(), name.c_str(), 0);
}

std::filesystem::path path_through(const FileDescriptor& folder) {
  return "/proc/self/fd/" + std::to_string(folder.get());
}

ScratchFolder::ScratchFolder(const std::string& purpose) {
  std::error_code error;
  std::string pattern = (std::filesystem::temp_directory_path(error) / ("cudadiag-" + purpose + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) return;
  folder_ = open_plain_folder(AT_FDCWD, pattern.c_str());
  if (folder_.valid()) path_ = pattern;
}

ScratchFolder::~ScratchFolder() { remove_folder(folder_); }

void ScratchFolder::remove(const std::string& name) const { remove_from(folder_, name); }

}  // namespace cudadiag::base
