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

namespace cudadiag::supervise {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPipe = ".pipe";
// Dumping everything that runs on a GPU takes about a second.
constexpr auto kPatience = std::chrono::seconds(30);

// Returns the pid in "4711.pipe"; 0 for any other name.
int pid_of(const fs::path& path) {
  const int pid = base::whole_number<int>(path.stem().string()).value_or(0);
  return pid > 0 && path.extension() == kPipe ? pid : 0;
}

// Requests a dump by writing a byte with any value. Returns false if no process reads the pipe.
bool write_to(const fs::path& pipe) {
  const base::FileDescriptor file(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file.valid()) return false;
  // The process that reads the pipe may end at any time. To avoid SIGPIPE in that case, also opens the pipe for
  // reading.
  const base::FileDescriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  return reader.valid() && ::fstat(file.get(), &status) == 0 && S_ISFIFO(status.st_mode) &&
         ::write(file.get(), "1", 1) == 1;
}

}  // namespace

DumpRequest::DumpRequest(fs::path folder, double after_seconds)
    : folder_(std::move(folder)),
      due_(Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(after_seconds * 1000))) {}

std::string DumpRequest::pipe_pattern(const fs::path& folder) { return (folder / "%p").string() + kPipe; }

void DumpRequest::ask() {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const int pid = pid_of(it->path());
    if (pid != 0 && !asked_.contains(pid) && write_to(it->path())) asked_.insert(pid);
  }
  if (!asked_.empty() && patience_ == Clock::time_point{}) patience_ = Clock::now() + kPatience;
}

bool DumpRequest::proceed() {
  if (Clock::now() < due_) return false;
  // Sends requests only once. A process that creates its pipe later has a new context, in which nothing can have hung
  // yet.
  if (asked_.empty()) ask();
  if (asked_.empty()) return false;
  const bool gone = std::all_of(asked_.begin(), asked_.end(), [](int pid) { return ::kill(pid, 0) != 0; });
  return gone || Clock::now() > patience_;
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
