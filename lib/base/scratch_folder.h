// Owns a private temporary folder, and removes it with its contents when destroyed.
#pragma once

#include <filesystem>
#include <string>

#include "base/file_descriptor.h"

namespace cudadiag::base {

class ScratchFolder {
 public:
  // Creates a folder such as /tmp/cudadiag-PURPOSE-Zk3u9f.
  explicit ScratchFolder(const std::string& purpose);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // Empty if no folder could be created.
  const std::filesystem::path& path() const { return path_; }
  // Removes an entry of the folder, with everything below it.
  void remove(const std::string& name) const;

 private:
  std::filesystem::path path_;
  FileDescriptor folder_;
};

}  // namespace cudadiag::base
