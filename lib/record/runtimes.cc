#include "record/runtimes.h"

#include <stdlib.h>
#include <string.h>

#include <array>
#include <climits>

#include "record/modules.h"
#include "record/scratch.h"
#include "record/this_thread.h"
#include "record/unwinder.h"

namespace cudadiag::record {

namespace {

constexpr int kHandsOn = 13;  // the first major version that does
// That it looks up, at least; who uses the driver itself looks up a few.
constexpr std::uint32_t kFunctionsOfARuntime = 100;

// The name of the library that called into the driver, in `path`; empty: not known.
std::string_view caller_of_driver(std::span<char, PATH_MAX> path) {
  std::array<UnwoundFrame, 32> frames;
  bool truncated = false;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::size_t count = unwind(here, 0, 0, frames, truncated);
  LoadedModule own;
  if (!Modules::find(reinterpret_cast<std::uintptr_t>(&caller_of_driver), own)) return {};
  for (std::size_t i = 0; i < count; ++i) {
    LoadedModule module;
    if (!Modules::find(frames[i].return_address - 1, module)) return {};
    if (module.begin == own.begin) continue;
    std::string_view name = Modules::path(module, path);
    name.remove_prefix(name.rfind('/') + 1);
    if (!name.starts_with("libcuda.so") && !name.starts_with("libcupti.so")) return name;
  }
  return {};
}

// Major version of the runtime's library, if that is what called the driver; else 0.
int calling_library() {
  constexpr std::string_view kName = "libcudart.so.";
  const Scratch<std::array<char, PATH_MAX>> path;
  if (!path) return 0;
  const std::string_view caller = caller_of_driver(*path);
  return caller.starts_with(kName) ? atoi(caller.data() + kName.size()) : 0;
}

}  // namespace

void Runtimes::meet_first() { hand_launches_on_ = calling_library() >= kHandsOn; }

bool Runtimes::library_calls_driver() { return calling_library() > 0; }

void Runtimes::looked_up(std::string_view function, int version) {
  // Each runtime's first: what the thread looked up before was for somebody else.
  if (function == "cuInit") t_this.looked_up = 0, t_this.newest_looked_up = 0;
  ++t_this.looked_up;
  if (version > t_this.newest_looked_up) t_this.newest_looked_up = version;
}

bool Runtimes::initialised() {
  const bool runtime = t_this.looked_up >= kFunctionsOfARuntime;
  const bool hands_on = t_this.newest_looked_up >= kHandsOn * 1000;
  t_this.looked_up = 0, t_this.newest_looked_up = 0;
  return runtime && !hands_on && hand_launches_on_.exchange(false);
}

}  // namespace cudadiag::record
