#include "base/scratch_folder.h"

#include <fcntl.h>
#include <stdlib.h>

#include <system_error>

#include "base/plain_folder.h"

namespace cudadiag::base {

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
