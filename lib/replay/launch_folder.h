// The folder of a saved launch: launch.json, the image and the memory files. For the user, it also contains a README
// and the source of a program that repeats the launch with only the driver API.
//
// Anyone may have created the folder. Its files are therefore opened relative to it, without following links, and only
// if they are plain files of the size that launch.json gives.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "replay/saved_launch.h"

namespace cudadiag::replay {

// The source of a program that repeats a saved launch. The tables of that launch replace the line `kTablesPlace`.
extern const char* const kStandaloneProgram;
inline constexpr const char* kTablesPlace = "// @tables@\n";

inline constexpr const char* kLaunchFile = "launch.json";
inline constexpr const char* kReadme = "README.md";
inline constexpr const char* kSource = "replay.cc";

// The texts of README.md and of replay.cc.
std::string readme_of(const SavedLaunch& launch);
std::string source_of(const SavedLaunch& launch);

class LaunchFolder {
 public:
  static base::Result<LaunchFolder> open(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return path_; }
  const SavedLaunch& launch() const { return launch_; }
  // See UnparsedLaunch::why_foreign().
  const std::string& why_foreign() const { return why_foreign_; }
  // Fails unless the file is still a plain file of this size. The error has no hint.
  base::Result<base::FileDescriptor> open_file(const std::string& name, std::uint64_t bytes) const;

 private:
  friend class UnparsedLaunch;
  LaunchFolder(std::filesystem::path path, base::FileDescriptor folder, std::string why_foreign, SavedLaunch launch)
      : path_(std::move(path)),
        folder_(std::move(folder)),
        why_foreign_(std::move(why_foreign)),
        launch_(std::move(launch)) {}

  std::filesystem::path path_;
  base::FileDescriptor folder_;
  std::string why_foreign_;
  SavedLaunch launch_;
};

// An open folder whose launch.json has been read but not parsed yet, because another user may have written it.
class UnparsedLaunch {
 public:
  static base::Result<UnparsedLaunch> open(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return path_; }
  // Returns a clause that says why the launch may come from another user.
  const std::string& why_foreign() const { return why_foreign_; }
  base::Result<LaunchFolder> parse() &&;

 private:
  UnparsedLaunch(std::filesystem::path path, base::FileDescriptor folder, std::string text);

  std::filesystem::path path_;
  base::FileDescriptor folder_;
  std::string text_;
  std::string why_foreign_;
};

// Facts about the launch that the recorder could not record.
struct Surroundings {
  std::string demangled;                                    // name of the kernel
  SavedFailure failure;                                     // its `code` is ignored, because the recorder has the code
  std::function<std::string(std::uint32_t device)> bus_of;  // returns a device's PCI bus id; empty if unknown
};

// Returns whether the recorder left a failed launch in this folder.
bool holds_launch(const std::filesystem::path& folder);
// Completes a folder that the recorder has written: converts the description to launch.json, and adds the README and
// the source.
std::optional<base::Error> complete_folder(const std::filesystem::path& folder, const Surroundings& surroundings);
// Writes a new folder for `launch`, which is the launch in `from` with only part of its memory.
std::optional<base::Error> copy_folder(const LaunchFolder& from, SavedLaunch launch, const std::filesystem::path& to);

// Returns a hash of this host's name, for `made_on` in launch.json.
std::string host_mark();

}  // namespace cudadiag::replay
