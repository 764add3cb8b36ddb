// The folder of a saved launch: launch.json, the image, the memory files, and for people a README and the source of a
// program that makes the launch by the driver API alone.
//
// A folder may come from anybody. Its files are opened relative to it, without following links, and only plain files of
// the size that launch.json says.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "replay/saved_launch.h"

namespace cudadiag::replay {

inline constexpr const char* kLaunchFile = "launch.json";
inline constexpr const char* kReadme = "README.md";
inline constexpr const char* kSource = "replay.cc";

class LaunchFolder {
 public:
  static base::Result<LaunchFolder> open(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return path_; }
  const SavedLaunch& launch() const { return launch_; }
  // A clause, if the launch may be somebody else's; empty for one that this user saved on this host.
  std::string why_foreign() const;
  // Invalid: it is not a plain file of this size any more.
  base::FileDescriptor open_file(const std::string& name, std::uint64_t bytes) const;

 private:
  LaunchFolder(std::filesystem::path path, base::FileDescriptor folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  std::filesystem::path path_;
  base::FileDescriptor folder_;
  SavedLaunch launch_;
};

// Facts that the launcher knows and the recorder does not.
struct Surroundings {
  std::string demangled;  // name of the kernel
  SavedFailure failure;   // its code is the recorder's
};

// Whether the recorder left a launch that failed there.
bool holds_launch(const std::filesystem::path& folder);
// Makes a folder that a recorder left one for the reader: its description becomes launch.json.
std::optional<base::Error> complete_folder(const std::filesystem::path& folder, const Surroundings& surroundings);
// Copies a launch with some of its memory to a new folder.
std::optional<base::Error> copy_folder(const LaunchFolder& from, SavedLaunch launch, const std::filesystem::path& to);

// The mark of this machine in launch.json.
std::string host_mark();

}  // namespace cudadiag::replay
