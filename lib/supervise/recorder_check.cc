#include "supervise/recorder_check.h"

#include <dlfcn.h>

#include <variant>

#include "launch/environment.h"

namespace cudadiag::supervise {

base::Result<std::filesystem::path> loadable_recorder() {
  auto recorder = launch::find_recorder();
  if (std::holds_alternative<base::Error>(recorder)) return recorder;
  const std::string path = std::get<std::filesystem::path>(recorder).string();
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return base::Error{::dlerror(), "install the recorder built for this system"};
  if (::dlsym(library, "InitializeInjection") == nullptr) {
    return base::Error{path + " is not a recorder", "reinstall cudadiag"};
  }
  return recorder;
}

}  // namespace cudadiag::supervise
