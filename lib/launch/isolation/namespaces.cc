#include "launch/isolation/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "base/file_descriptor.h"
#include "launch/children.h"

namespace cudadiag::launch {
namespace {

using base::FileDescriptor;

bool write_text(const char* path, const std::string& text) {
  const FileDescriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  return file.valid() && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Returns an id map in which every user or group of `map` keeps its number.
std::string same_numbers(const char* map) {
  std::string same;
  std::ifstream ranges(map);
  for (std::string first, outside, count; ranges >> first >> outside >> count;) {
    same.append(first).append(" ").append(first).append(" ").append(count).append("\n");
  }
  return same;
}

// Starts a child that maps the users of the parent's future namespace. Only a process outside the new namespace may map
// several users. The child waits until `ready` is closed, then writes the maps. It exits with 0 on success.
pid_t start_map_writer(const FileDescriptor& ready, const FileDescriptor& keep_open) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::close(keep_open.get());
  char byte = 0;
  ::read(ready.get(), &byte, 1);
  const std::string folder = "/proc/" + std::to_string(parent);
  const bool written = write_text((folder + "/uid_map").c_str(), same_numbers("/proc/self/uid_map")) &&
                       write_text((folder + "/gid_map").c_str(), same_numbers("/proc/self/gid_map"));
  ::_exit(written ? 0 : 1);
}

// Maps all users. Without this, root would lose its access to other users' files.
bool enter_as_root(int kind) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  FileDescriptor ready(ends[0]), begun(ends[1]);
  const pid_t writer = start_map_writer(ready, begun);
  const bool entered = ::unshare(CLONE_NEWUSER | kind) == 0;
  begun = FileDescriptor();
  return succeeds(writer) && entered;
}

// Maps only this user and group. Their access to files does not change.
bool enter_as_user(int kind) {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | kind) != 0) return false;
  const std::string number = std::to_string(user), group_number = std::to_string(group);
  return write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", number + " " + number + " 1") &&
         write_text("/proc/self/gid_map", group_number + " " + group_number + " 1");
}

}  // namespace

Entry enter_namespace(int kind) {
  if (::unshare(kind) == 0) return Entry::direct;
  const bool entered = ::geteuid() == 0 ? enter_as_root(kind) : enter_as_user(kind);
  return entered ? Entry::in_user_namespace : Entry::refused;
}

}  // namespace cudadiag::launch
