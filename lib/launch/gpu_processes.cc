#include "launch/gpu_processes.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/file_descriptor.h"

namespace cudadiag::launch {
namespace {

// Returns false only if the kernel confirms that no process listens. A daemon that was killed leaves its socket behind.
// The daemon does not notice the attempt: it accepts no datagrams, so the kernel answers EPROTOTYPE for it.
bool has_listener(const std::filesystem::path& control) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = control.native();
  if (path.size() >= sizeof address.sun_path) return true;
  path.copy(address.sun_path, path.size());
  const base::FileDescriptor own(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!own.valid()) return true;
  return ::connect(own.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno != ECONNREFUSED;
}

bool has_daemon(const std::filesystem::path& control) {
  struct stat status {};
  if (::stat(control.c_str(), &status) != 0) return errno != ENOENT && errno != ENOTDIR;
  if (S_ISSOCK(status.st_mode)) return has_listener(control);
  if (!S_ISFIFO(status.st_mode)) return false;
  const base::FileDescriptor pipe(::open(control.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
  return pipe.valid() || errno != ENXIO;
}

// The variables of folders do not count: they also tell programs to use no daemon, as in
// CUDA_MPS_PIPE_DIRECTORY=/dev/null.
bool configures_clients(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return name.starts_with("CUDA_MPS_") && !name.ends_with("_DIRECTORY") && variable.size() > name.size() + 1;
}

}  // namespace

std::filesystem::path mps_folder() {
  const char* given = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return given != nullptr && *given == '/' ? given : "/tmp/nvidia-mps";
}

bool may_use_mps() {
  if (has_daemon(mps_folder() / "control")) return true;
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    if (configures_clients(*variable)) return true;
  }
  return false;
}

bool has_mapped(pid_t process, const std::string& path) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) != std::string::npos) return true;
  }
  return false;
}

bool has_opened_gpu(pid_t process) {
  bool device = false, memory_manager = false;
  std::error_code error;
  std::filesystem::directory_iterator files("/proc/" + std::to_string(process) + "/fd", error), end;
  for (; !error && files != end; files.increment(error)) {
    std::error_code closed;
    // A process in another root folder has another path above /dev.
    const std::string target = std::filesystem::read_symlink(files->path(), closed).string();
    const std::size_t dev = target.rfind("/dev/");
    if (dev == std::string::npos) continue;
    const std::string name = target.substr(dev + 5);
    const bool is_whole = name == "dxg" || name == "nvmap";  // WSL2; Tegra
    device |= is_whole || (name.starts_with("nvidia") && name.size() > 6 && std::isdigit(name[6]) != 0);
    memory_manager |= is_whole || name == "nvidia-uvm";
  }
  return device && memory_manager && has_mapped(process, "/libcuda.so");
}

}  // namespace cudadiag::launch
