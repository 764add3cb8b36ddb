#include "base/scratch_folder.h"

#include <stdlib.h>

#include <system_error>

namespace cudadiag::base {

ScratchFolder::ScratchFolder(const std::string& purpose) {
  std::error_code error;
  std::string pattern = (std::filesystem::temp_directory_path(error) / ("cudadiag-" + purpose + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace cudadiag::base
