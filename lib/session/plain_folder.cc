#include "session/plain_folder.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>

namespace cudadiag::session {

base::FileDescriptor open_plain_folder(int parent, const char* name) {
  return base::FileDescriptor(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> names_in(const base::FileDescriptor& folder) {
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
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  for (const std::string& name : names_in(open_plain_folder(AT_FDCWD, folder.c_str())))
    entries.push_back(folder / name);
  return entries;
}

}  // namespace cudadiag::session
