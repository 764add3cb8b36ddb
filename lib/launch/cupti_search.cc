// Finds the CUPTI library that the target's recorder loads.
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "launch/command_path.h"
#include "launch/environment.h"
#include "session/library_paths.h"
#include "wire/names/environment.h"

namespace cudadiag::launch {
namespace {

namespace fs = std::filesystem;

// The paths of libcupti in Python wheels, relative to site-packages, newest version first.
constexpr const char* kWheels[] = {"nvidia/cu13/lib/libcupti.so.13", "nvidia/cuda_cupti/lib/libcupti.so.13",
                                   "nvidia/cuda_cupti/lib/libcupti.so.12"};
constexpr const char* kLibraries[] = {"libcupti.so.13", "libcupti.so.12"};
constexpr const char* kToolkits[] = {"extras/CUPTI/lib64/libcupti.so.13", "lib64/libcupti.so.13",
                                     "extras/CUPTI/lib64/libcupti.so.12", "lib64/libcupti.so.12"};

class Candidates {
 public:
  void add(const fs::path& file) {
    std::error_code error;
    if (!fs::is_regular_file(file, error)) return;
    // Skips duplicates. A toolkit's folder is often named after its version, and also has a link without the version.
    const auto same = [&](const fs::path& other) { return fs::equivalent(file, other, error); };
    if (std::none_of(found_.begin(), found_.end(), same)) found_.push_back(file);
  }
  template <std::size_t N>
  void add_under(const fs::path& folder, const char* const (&files)[N]) {
    for (const char* file : files) add(folder / file);
  }
  std::vector<fs::path> take() { return std::move(found_); }

 private:
  std::vector<fs::path> found_;
};

std::vector<fs::path> children(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

// Adds folders such as PREFIX/lib/python3.X/site-packages to `folders`.
void add_python_prefix(const fs::path& prefix, std::vector<fs::path>& folders) {
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const fs::path& python : children(prefix / lib, "python3")) {
      folders.push_back(python / "site-packages");
      folders.push_back(python / "dist-packages");
    }
  }
}

// The prefix of a Python environment that the user chose: by activating it, or by running its interpreter or a script
// next to the interpreter. The folders around other programs are not searched.
struct PythonPrefix {
  fs::path path;
  uid_t owner;  // the owner of the program; trusted, because the user runs the program
};

std::vector<PythonPrefix> python_prefixes(const std::vector<std::string>& command) {
  std::vector<PythonPrefix> prefixes;
  if (const char* environment = std::getenv("VIRTUAL_ENV")) prefixes.push_back({environment, ::geteuid()});
  if (command.empty()) return prefixes;
  const CommandPath found = find_command(command.front());
  if (found.path.empty()) return prefixes;
  std::error_code error;
  // In a virtual environment, python is a symbolic link. Tries the prefix of the link first, then that of its target.
  for (const fs::path& program : {fs::absolute(found.path, error), fs::canonical(found.path, error)}) {
    const fs::path folder = program.parent_path();
    struct stat status {};
    const bool beside_interpreter = folder.filename() == "bin" && ::access((folder / "python3").c_str(), X_OK) == 0;
    if (!beside_interpreter && !session::is_interpreter(program.string())) continue;
    const fs::path prefix = folder.parent_path();
    if (!prefixes.empty() && prefixes.back().path == prefix) continue;
    if (::stat(program.c_str(), &status) == 0) prefixes.push_back({prefix, status.st_uid});
  }
  return prefixes;
}

bool is_elf(const fs::path& file) {
  char start[SELFMAG] = {};
  std::ifstream(file, std::ios::binary).read(start, sizeof start);
  return std::string_view(start, sizeof start) == ELFMAG;
}

}  // namespace

std::vector<std::string> listed_paths(const char* variable) {
  std::vector<std::string> elements;
  const char* value = std::getenv(variable);
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) elements.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return elements;
}

std::vector<fs::path> python_packages(const std::vector<std::string>& command) {
  std::vector<fs::path> folders;
  for (const PythonPrefix& prefix : python_prefixes(command)) add_python_prefix(prefix.path, folders);
  return folders;
}

std::vector<fs::path> files_in_python_packages(const std::vector<std::string>& command, const fs::path& name) {
  std::vector<fs::path> files;
  for (const PythonPrefix& prefix : python_prefixes(command)) {
    std::vector<fs::path> folders;
    add_python_prefix(prefix.path, folders);
    for (const fs::path& folder : folders) {
      if (only_trusted_can_write(folder / name, prefix.owner)) files.push_back(folder / name);
    }
  }
  return files;
}

std::vector<fs::path> find_cupti(const std::vector<std::string>& command) {
  Candidates candidates;
  for (const std::string& named : listed_paths(wire::environment::kCupti)) candidates.add(named);
  for (const std::string& folder : listed_paths("LD_LIBRARY_PATH")) candidates.add_under(folder, kLibraries);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(variable)) candidates.add_under(home, kToolkits);
  }
  for (const fs::path& toolkit : children("/usr/local", "cuda")) candidates.add_under(toolkit, kToolkits);
  for (const char* file : {"/usr/lib/x86_64-linux-gnu/libcupti.so.13", "/usr/lib/x86_64-linux-gnu/libcupti.so.12",
                           "/usr/lib/aarch64-linux-gnu/libcupti.so.13"}) {
    candidates.add(file);
  }
  for (const char* wheel : kWheels) {
    for (const fs::path& file : files_in_python_packages(command, wheel)) candidates.add(file);
  }
  return candidates.take();
}

std::vector<std::string> missing_cupti() {
  std::vector<std::string> missing;
  for (const std::string& file : listed_paths(wire::environment::kCupti)) {
    std::error_code error;
    const bool is_file = fs::is_regular_file(file, error);
    if (is_file && is_elf(file)) continue;
    missing.push_back(std::string(wire::environment::kCupti) + " names " + file + ", which is not a " +
                      (is_file ? "readable library" : "file"));
  }
  return missing;
}

}  // namespace cudadiag::launch
