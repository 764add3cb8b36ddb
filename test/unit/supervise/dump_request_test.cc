#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/files.h"
#include "supervise/reruns/gpu_dumps.h"
#include "unit/scratch_folder.h"

namespace cudadiag::supervise {
namespace {

constexpr double kAtOnce = 0, kNever = 1e6;

// Creates a named pipe as the driver does, and opens it for reading.
base::FileDescriptor pipe_of(const test::ScratchFolder& folder, const std::string& name) {
  const std::string path = (folder.path() / name).string();
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  return base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

std::string read_from(const base::FileDescriptor& pipe) {
  char text[8] = {};
  const ssize_t length = ::read(pipe.get(), text, sizeof text);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

// Returns the pid of a process that has exited.
pid_t ended_process() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  return pid;
}

TEST_CASE("every process with a pipe receives a request for a dump once it is time") {
  const test::ScratchFolder folder;
  const auto pipe = pipe_of(folder, std::to_string(::getpid()) + ".pipe");
  DumpRequest early(folder.path(), kNever);
  CHECK_FALSE(early.proceed());
  CHECK_FALSE(early.was_taken());
  CHECK(read_from(pipe).empty());
  DumpRequest request(folder.path(), kAtOnce);
  CHECK_FALSE(request.proceed());  // the process is still running
  CHECK(request.was_taken());
  CHECK(read_from(pipe) == "1");
  CHECK_FALSE(request.proceed());
  CHECK(read_from(pipe).empty());  // the dump is requested only once
}

TEST_CASE("the request ends when the processes that were asked are gone") {
  const test::ScratchFolder folder;
  const auto pipe = pipe_of(folder, std::to_string(ended_process()) + ".pipe");
  DumpRequest request(folder.path(), kAtOnce);
  CHECK(request.proceed());
}

TEST_CASE("the request to a recorded process ends when the recorder says that the dump is complete") {
  const test::ScratchFolder folder;
  const std::string name = std::to_string(::getpid()) + "-1732845600";
  const auto pipe = pipe_of(folder, name + ".pipe");
  DumpRequest request(folder.path(), kAtOnce);
  CHECK_FALSE(request.proceed());
  CHECK(read_from(pipe) == "1");
  REQUIRE(std::filesystem::remove(folder.path() / (name + ".request")));
  CHECK(request.proceed());
}

TEST_CASE("pipes and requests are removed, and nothing else") {
  const test::ScratchFolder folder;
  const auto pipe = pipe_of(folder, "4711-1.pipe");
  folder.file("4711-1.request", "");
  folder.file("4711-1.gpucore", "dump");
  remove_pipes(folder.path());
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) left.push_back(entry.path().filename());
  CHECK(left == std::vector<std::string>{"4711-1.gpucore"});
}

TEST_CASE("nothing else in the folder is written to") {
  const test::ScratchFolder folder;
  const auto named_otherwise = pipe_of(folder, "driver.pipe");
  const auto no_reader = folder.file("4711.pipe", "text");
  DumpRequest request(folder.path(), kAtOnce);
  CHECK_FALSE(request.proceed());
  CHECK_FALSE(request.was_taken());
  CHECK(read_from(named_otherwise).empty());
  CHECK(std::filesystem::file_size(no_reader) == 4);
}

}  // namespace
}  // namespace cudadiag::supervise
