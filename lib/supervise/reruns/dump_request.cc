#include "supervise/reruns/dump_request.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "wire/names/core_dump.h"

namespace cudadiag::supervise {

namespace {

namespace fs = std::filesystem;

using wire::core_dump::kPipeSuffix, wire::core_dump::kRequestSuffix;

// Returns the pid in "4711.pipe" or "4711-1732845600.pipe"; 0 for any other name.
int pid_of(const fs::path& path) {
  const std::string name = path.stem().string();
  const int pid = base::whole_number<int>(name.substr(0, name.find('-'))).value_or(0);
  return pid > 0 && path.extension() == kPipeSuffix ? pid : 0;
}

// Requests a dump by writing a byte with any value. Returns false if no process reads the pipe. First creates the file that
// the recorder removes when the dump is complete.
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
