#include "supervise/reruns/gpu_dumps.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>
#include <variant>

#include "base/files.h"
#include "base/text.h"
#include "launch/libraries.h"
#include "wire/environment.h"
#include "wire/pass_files.h"

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

namespace {

using wire::core_dump::kPipeSuffix, wire::core_dump::kRequestSuffix;

// Returns the pid in "4711.pipe" or "4711-1732845600.pipe"; 0 for any other name.
int pid_of(const fs::path& path) {
  const std::string name = path.stem().string();
  const int pid = base::whole_number<int>(name.substr(0, name.find('-'))).value_or(0);
  return pid > 0 && path.extension() == kPipeSuffix ? pid : 0;
}

// Requests a dump by writing a byte with any value. Returns false if no process reads the pipe. First creates the file
// that the recorder removes when the dump is complete.
bool write_to(const fs::path& pipe, const fs::path& request) {
  const base::FileDescriptor file(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file.valid()) return false;
  // The process that reads the pipe may end at any time. To avoid SIGPIPE in that case, also opens the pipe for
  // reading.
  const base::FileDescriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!reader.valid() || ::fstat(file.get(), &status) != 0 || !S_ISFIFO(status.st_mode)) return false;
  const base::FileDescriptor created(::open(request.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  return created.valid() && ::write(file.get(), "1", 1) == 1;
}

}  // namespace

DumpRequest::DumpRequest(fs::path folder, double after_seconds, std::chrono::seconds patience)
    : folder_(std::move(folder)),
      due_(Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(after_seconds * 1000))),
      patience_(patience) {}

std::string DumpRequest::pipe_pattern(const fs::path& folder) { return (folder / "%p").string() + kPipeSuffix; }

void DumpRequest::ask() {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const int pid = pid_of(it->path());
    const fs::path request = fs::path(it->path()).replace_extension(kRequestSuffix);
    if (pid != 0 && write_to(it->path(), request)) asked_.emplace(pid, request);
  }
  if (!asked_.empty()) limit_ = Clock::now() + patience_;
}

bool DumpRequest::proceed() {
  if (Clock::now() < due_) return false;
  // Sends requests only once. A process that creates its pipe later has a new context, in which nothing can have hung
  // yet.
  if (asked_.empty()) ask();
  if (asked_.empty()) return false;
  const bool done = std::all_of(asked_.begin(), asked_.end(), [](const auto& each) {
    return ::kill(each.first, 0) != 0 || ::access(each.second.c_str(), F_OK) != 0;
  });
  return done || Clock::now() > limit_;
}

void request_dump(const fs::path& folder, launch::SignalRelay& relay) {
  constexpr int kLook = 50;  // milliseconds
  DumpRequest request(folder, 0, kDumpPatience);
  while (!request.proceed() && request.was_taken() && !relay.interrupted()) {
    relay.wait(kLook);
    relay.take_signals();
  }
}

void remove_pipes(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path suffix = it->path().extension();
    std::error_code ignored;
    if (suffix == kPipeSuffix || suffix == kRequestSuffix) fs::remove(it->path(), ignored);
  }
}

bool DumpProgress::moves() {
  constexpr std::uint64_t kTail = 512;  // more than any line that the driver prints
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(output_, error);
  if (error || size <= size_) return false;
  size_ = size;
  std::ifstream file(output_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(size > kTail ? size - kTail : 0));
  std::string tail(kTail, '\0');
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  std::string_view last(tail.data(), static_cast<std::size_t>(file.gcount()));
  while (last.ends_with('\n')) last.remove_suffix(1);
  last.remove_prefix(last.rfind('\n') + 1);
  return last.find("] coredump: ") != std::string_view::npos;
}

}  // namespace cudadiag::supervise
