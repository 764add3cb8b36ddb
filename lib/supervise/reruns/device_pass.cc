#include "supervise/reruns/device_pass.h"

#include <fnmatch.h>
#include <sys/stat.h>

#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "launch/own_libraries.h"
#include "wire/names/environment.h"

namespace cudadiag::supervise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "CUDA_COREDUMP_FILE";
constexpr const char* kDumpSuffix = ".gpucore";

// These flags omit everything large from a dump. Registers, threads and code remain.
constexpr const char* kLight =
    "skip_nonrelocated_elf_images,skip_global_memory,skip_shared_memory,skip_local_memory,skip_constbank_memory";

std::pair<int, int> version_of(const std::string& cuda) {
  const std::size_t dot = cuda.find('.');
  return {std::atoi(cuda.c_str()), dot == std::string::npos ? 0 : std::atoi(cuda.c_str() + dot + 1)};
}

// Replaces "%p" and other placeholders by "*", because their values differ between processes.
std::string as_glob(const std::string& pattern) {
  std::string glob;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool placeholder = pattern[i] == '%' && i + 1 < pattern.size();
    glob += placeholder ? '*' : pattern[i];
    if (placeholder) ++i;
  }
  return glob;
}

std::int64_t written_at(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return 0;
  return static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

std::optional<fs::path> first_written(const fs::path& folder, const std::string& glob, std::int64_t since) {
  std::optional<fs::path> first;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (::fnmatch(glob.c_str(), it->path().filename().c_str(), 0) != 0) continue;
    const std::int64_t at = written_at(it->path());
    if (at < since || at == 0) continue;
    if (!first || at < written_at(*first)) first = it->path();
  }
  return first;
}

}  // namespace

std::vector<launch::Variable> dump_variables(const fs::path& folder, const std::string& cuda, bool isolated) {
  std::vector<launch::Variable> variables = {
      {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"}, kShowDumpProgress, {kFile, (folder / "%p").string() + kDumpSuffix}};
  // CUDA has these flags from version 12.5 on. Earlier versions have only a switch that omits all memory.
  if (version_of(cuda) >= std::pair(12, 5) || cuda.empty()) {
    variables.push_back({"CUDA_COREDUMP_GENERATION_FLAGS", kLight});
  } else {
    variables.push_back({"CUDA_ENABLE_LIGHTWEIGHT_COREDUMP", "1"});
  }
  std::erase_if(variables, [&](const launch::Variable& variable) {
    return std::getenv(variable.name.c_str()) != nullptr && !(isolated && variable.name == kFile);
  });
  return variables;
}

bool can_dump_while_recorded() {
  const auto is_unset = [](const char* name) { return std::getenv(name) == nullptr; };
  return std::holds_alternative<fs::path>(launch::usable_recorder(true)) && is_unset(wire::environment::kInjection) &&
         is_unset(kFile) && is_unset("CUDA_ENABLE_COREDUMP_ON_EXCEPTION") &&
         is_unset("CUDA_ENABLE_LIGHTWEIGHT_COREDUMP") && is_unset("CUDA_COREDUMP_GENERATION_FLAGS");
}

std::vector<std::uint16_t> core_dump_ports() {
  constexpr std::uint16_t kFirst = 49152, kCount = 64;
  std::vector<std::uint16_t> ports(kCount);
  std::iota(ports.begin(), ports.end(), kFirst);
  return ports;
}

std::string find_dump(const fs::path& folder) {
  const auto dump = first_written(folder, std::string("*") + kDumpSuffix, 0);
  return dump ? dump->filename().string() : "";
}

std::string collect_dump(const fs::path& folder, const fs::path& working_directory, std::int64_t since) {
  const char* own = std::getenv(kFile);
  if (own == nullptr) return find_dump(folder);
  const fs::path pattern = working_directory / as_glob(own);
  const auto theirs = first_written(pattern.parent_path(), pattern.filename().string(), since);
  const std::string name = std::string("dump") + kDumpSuffix;
  std::error_code error;
  if (!theirs || !fs::copy_file(*theirs, folder / name, error)) return "";
  return name;
}

void drop_large_dumps(session::Session& session, session::SessionWriter& writer) {
  constexpr std::uintmax_t kLargestKept = 256u << 20;
  bool dropped = false;
  for (session::Pass& pass : session.manifest.passes) {
    const fs::path dump = writer.folder() / pass.folder / pass.dump;
    std::error_code error;
    const std::uintmax_t size = pass.dump.empty() ? 0 : fs::file_size(dump, error);
    if (error || size <= kLargestKept) continue;
    writer.remove(dump);
    session.manifest.notes.push_back("the GPU core dump (" + std::to_string(size >> 20) +
                                     " MB) was read and removed; to keep it, use --keep-core");
    pass.dump.clear();
    dropped = true;
  }
  if (dropped) writer.store_manifest(session.manifest);
}

}  // namespace cudadiag::supervise
