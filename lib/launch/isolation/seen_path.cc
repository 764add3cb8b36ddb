#include "launch/isolation/seen_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace cudadiag::launch {

namespace {

using base::FileDescriptor;

constexpr int kMostLinks = 40;  // the kernel's limit

FileDescriptor open_handle(int folder, const std::string& name, int flags = 0) {
  return FileDescriptor(::openat(folder, name.c_str(), O_PATH | O_CLOEXEC | flags));
}

struct statx status_of(const FileDescriptor& handle) {
  struct statx status {};
  constexpr unsigned kWanted =
      STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_INO | STATX_SIZE | STATX_BTIME | STATX_MNT_ID;
  ::statx(handle.get(), "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, kWanted, &status);
  return status;
}

// Returns nullopt if there is no such link, with errno set. An empty name refers to the link that `folder` is.
std::optional<std::string> link_text(int folder, const std::string& name) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlinkat(folder, name.c_str(), text.data(), text.size());
  if (size < 0) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(size));
}

bool is_on_proc(const FileDescriptor& folder) {
  struct statfs system {};
  return ::fstatfs(folder.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

// Returns true if a link of /proc has this text, but leads to no file in a folder: "pipe:[7]", "/memfd:x (deleted)".
bool is_no_file(const std::string& text) {
  return text[0] != '/' || text.starts_with("/memfd:") || text.starts_with("/dmabuf:");
}

// Returns true if the path does not exist, or if its folder is closed to this process and to the rerun alike.
bool is_absent(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP || error == ENAMETOOLONG;
}

SeenPath unchecked(std::string path, int error) {
  SeenPath seen;
  seen.path = std::move(path);
  seen.error = error;
  return seen;
}

SeenPath found(std::string path, FileDescriptor file) {
  SeenPath seen;
  seen.path = std::move(path);
  seen.status = status_of(file);
  seen.file = std::move(file);
  seen.reachable = seen.exists = true;
  return seen;
}

// Returns what a link of /proc leads to. Reads the text of its own handle, because the link may lead elsewhere by now.
SeenPath jump(int folder, const std::string& name) {
  FileDescriptor file = open_handle(folder, name);
  // A process can hide its descriptors from this one (PR_SET_DUMPABLE).
  if (!file.valid()) return errno == ENOENT ? SeenPath{} : unchecked(name, EACCES);
  const auto text = link_text(AT_FDCWD, base::path_through(file));
  if (!text) return unchecked(name, EACCES);
  if (is_no_file(*text)) {
    SeenPath seen;
    seen.path = *text;
    seen.is_file = false;
    seen.reachable = seen.exists = true;
    return seen;
  }
  return found(*text, std::move(file));
}

std::string descriptor_of(pid_t thread, int folder) {
  const std::string own = "/proc/" + std::to_string(thread);
  return folder == AT_FDCWD ? own + "/cwd" : own + "/fd/" + std::to_string(folder);
}

// The filter refuses chroot() and pivot_root(), so the root folder of every process is this process's.
SeenPath root() { return found("", open_handle(AT_FDCWD, "/")); }

// Removes the first name and the slashes before it from `rest`.
std::string take_name(std::string& rest) {
  const std::size_t begin = std::min(rest.find_first_not_of('/'), rest.size());
  const std::size_t end = std::min(rest.find('/', begin), rest.size());
  const std::string name = rest.substr(begin, end - begin);
  rest.erase(0, end);
  return name;
}

SeenPath whole(SeenPath folder) {
  if (folder.path.empty()) folder.path = "/";
  return folder;
}

}  // namespace

SeenPath see_path(pid_t thread, int folder, const std::string& path, bool follows) {
  if (path.empty()) return {};
  SeenPath here = path[0] == '/' ? root() : jump(AT_FDCWD, descriptor_of(thread, folder));
  if (!here.file.valid()) return here.error != 0 ? std::move(here) : SeenPath{};
  std::string rest = path;
  for (int links = 0;;) {
    std::string name = take_name(rest);
    const bool last = rest.find_first_not_of('/') == std::string::npos;
    if (name.empty()) return whole(std::move(here));
    if (name == ".") continue;
    const std::string parent = here.path == "/" ? "" : here.path.native();
    if (name == "..") {
      here = found(parent.substr(0, parent.rfind('/')), open_handle(here.file.get(), ".."));
      continue;
    }
    const std::string full = parent + "/" + name;
    FileDescriptor next = open_handle(here.file.get(), name, O_NOFOLLOW);
    if (!next.valid()) {
      const int error = errno;
      if (!is_absent(error) || (error == EACCES && is_on_proc(here.file))) return unchecked(full + rest, error);
      SeenPath seen;
      seen.path = full;
      seen.reachable = last;
      return seen;
    }
    SeenPath seen = found(full, std::move(next));
    if (seen.has_type(S_IFLNK) && (!last || follows || !rest.empty())) {
      if (++links > kMostLinks) return {};
      const auto text = link_text(seen.file.get(), "");
      if (!text || text->empty()) return {};
      const bool on_proc = is_on_proc(here.file);
      if (on_proc && (name == "self" || name == "thread-self")) {
        // This /proc may belong to another pid namespace, in which the thread has another number.
        if (text->substr(0, text->find('/')) != std::to_string(::getpid())) return unchecked(full + rest, EACCES);
        const std::string own = status_line(thread, "Tgid:");
        rest.insert(0, name == "self" ? own : own + "/task/" + std::to_string(thread));
        continue;
      }
      // Links in the folders of processes lead to files, whatever their texts say. All others are plain links, which
      // have no colon.
      if (on_proc && (text->find(':') != std::string::npos || text->starts_with('/'))) {
        SeenPath target = jump(here.file.get(), name);
        if (last || !target.file.valid()) return target.is_file || last ? whole(std::move(target)) : SeenPath{};
        here = std::move(target);
        continue;
      }
      if (text->starts_with('/')) here = root();
      rest.insert(0, *text);
      continue;
    }
    if (last) return seen;
    // The contents of this folder cannot be checked before it is mounted.
    if ((seen.status.stx_attributes & STATX_ATTR_AUTOMOUNT) != 0) return unchecked(full + rest, EACCES);
    here = std::move(seen);
  }
}

SeenPath see_descriptor(pid_t thread, int descriptor) {
  SeenPath seen = jump(AT_FDCWD, descriptor_of(thread, descriptor));
  // The descriptor does not exist, so the kernel rejects the call.
  if (!seen.exists && seen.error == 0) seen.is_file = false;
  return seen;
}

FileIdentity identity_of(const struct statx& status) {
  const bool has_birth = (status.stx_mask & STATX_BTIME) != 0;
  return {(std::uint64_t{status.stx_dev_major} << 32) | status.stx_dev_minor, status.stx_ino,
          has_birth ? static_cast<std::uint64_t>(status.stx_btime.tv_sec) : 0,
          has_birth ? status.stx_btime.tv_nsec : 0};
}

std::string status_line(pid_t thread, std::string_view name) {
  std::ifstream file("/proc/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

bool read_memory(pid_t thread, std::uint64_t address, void* into, std::size_t bytes) {
  iovec here{into, bytes};
  iovec there{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(thread, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

// Reads one page at a time, because the page after the text may be unmapped.
std::optional<std::string> read_text(pid_t thread, std::uint64_t address) {
  std::string text;
  constexpr std::size_t kPage = 4096;
  std::array<char, kPage> piece{};
  while (text.size() < kPage) {
    const std::size_t bytes = kPage - (address + text.size()) % kPage;
    if (!read_memory(thread, address + text.size(), piece.data(), bytes)) return std::nullopt;
    const auto end = std::find(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(bytes), '\0');
    text.append(piece.begin(), end);
    if (end != piece.begin() + static_cast<std::ptrdiff_t>(bytes)) return text;
  }
  return std::nullopt;
}

}  // namespace cudadiag::launch
