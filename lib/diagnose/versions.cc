#include "diagnose/versions.h"

#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

namespace cudadiag::diagnose {
namespace {

namespace fs = std::filesystem;

// Returns the folders in which packages are installed, according to the paths of the recorded libraries.
std::set<std::string> package_folders(const session::ProcessRecord& process) {
  std::set<std::string> folders;
  for (const session::Module& module : process.modules) {
    for (const std::string_view name : {"/site-packages/", "/dist-packages/"}) {
      const std::size_t at = module.path.find(name);
      if (at != std::string::npos) folders.insert(module.path.substr(0, at + name.size()));
    }
  }
  return folders;
}

// Returns "torch" and "2.11.0" for "torch-2.11.0.dist-info"; both are empty if the name does not have this form.
std::pair<std::string_view, std::string_view> split_metadata_name(std::string_view name) {
  constexpr std::string_view kEnding = ".dist-info";
  const std::size_t dash = name.find('-');
  if (!name.ends_with(kEnding) || dash == std::string_view::npos) return {};
  return {name.substr(0, dash), name.substr(dash + 1, name.size() - kEnding.size() - dash - 1)};
}

std::string_view member_of(std::string_view package) {
  if (package == "torch" || package == "triton") return package;
  if (package.starts_with("nvidia_cudnn_cu")) return "cudnn";
  if (package.starts_with("nvidia_nccl_cu")) return "nccl";
  return {};
}

}  // namespace

std::map<std::string, std::string> package_versions(const session::ProcessRecord& process) {
  std::map<std::string, std::string> versions;
  for (const std::string& folder : package_folders(process)) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      const auto [package, version] = split_metadata_name(name);
      const std::string_view member = member_of(package);
      if (!member.empty()) versions.emplace(member, version);
    }
  }
  return versions;
}

}  // namespace cudadiag::diagnose
