#include "record/runtimes.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <climits>
#include <iterator>
#include <span>

#include "record/loaded_library.h"
#include "record/modules.h"
#include "record/scratch.h"
#include "record/this_thread.h"
#include "record/unwinder.h"

namespace cudadiag::record {

namespace {

constexpr int kHandsOn = 13;  // the first major version that does
// That it looks up, at least; who uses the driver itself looks up a few.
constexpr std::uint32_t kFunctionsOfARuntime = 100;

// Who calls into the driver: the innermost that is neither we nor the driver nor CUPTI.
struct Caller {
  LoadedModule module{};       // all zero: not known
  int library = 0;             // its major version, if it is a runtime's
  std::uintptr_t entered = 0;  // an address in the function of it that was called from outside
};

struct Names {
  std::array<UnwoundFrame, 24> frames;
  std::array<char, PATH_MAX> path;
};

Caller caller_of_driver() {
  constexpr std::string_view kLibrary = "libcudart.so.";
  Caller caller;
  LoadedModule own, module;
  const Scratch<Names> names;
  bool truncated = false;
  if (!names || !Modules::find(reinterpret_cast<std::uintptr_t>(&caller_of_driver), own)) return {};
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::size_t count = unwind(here, 0, 0, names->frames, truncated);
  for (const UnwoundFrame& frame : std::span(names->frames).first(count)) {
    const std::uintptr_t address = frame.return_address - 1;
    if (!Modules::find(address, module)) break;
    if (module.begin == own.begin) continue;
    std::string_view name = Modules::path(module, names->path);
    name.remove_prefix(name.rfind('/') + 1);
    // The runtimes begin by pthread_once.
    if (name.starts_with("libcuda.so") || name.starts_with("libcupti.so") || name.starts_with("libc.so")) continue;
    if (caller.entered != 0 && module.begin != caller.module.begin) break;
    caller = {module, name.starts_with(kLibrary) ? atoi(name.data() + kLibrary.size()) : 0, address};
  }
  return caller;
}

}  // namespace

void Runtimes::meet_first() { hand_launches_on_ = left_out_ = caller_of_driver().library >= kHandsOn; }

void Runtimes::looked_up(std::string_view function, int version) {
  // Each runtime's first: what the thread looked up before was for somebody else.
  if (function == "cuInit") t_this.looked_up = 0, t_this.newest_looked_up = 0;
  ++t_this.looked_up;
  if (version > t_this.newest_looked_up) t_this.newest_looked_up = version;
}

void Runtimes::initialised() {
  const bool runtime = t_this.looked_up >= kFunctionsOfARuntime;
  const bool hands_on = t_this.newest_looked_up >= kHandsOn * 1000;
  t_this.looked_up = 0, t_this.newest_looked_up = 0;
  if (!runtime) return;
  if (!hands_on) hand_launches_on_ = false;
  remember_linked_in();
}

void Runtimes::remember_linked_in() {
  const Caller caller = caller_of_driver();
  if (caller.entered == 0 || caller.library != 0) return;
  for (auto& each : linked_in_) {
    std::uintptr_t free = 0;
    if (each.compare_exchange_strong(free, caller.module.begin) || free == caller.module.begin) return;
  }
}

bool Runtimes::is_linked_in(std::uintptr_t module) const {
  return std::any_of(linked_in_.begin(), linked_in_.end(), [&](const auto& each) { return each == module; });
}

bool Runtimes::failed(std::string_view driver_call) {
  constexpr std::string_view kNeeded[] = {"cuLibraryLoad",  "cuLibraryGetKernel",  "cuKernelGetFunction",
                                          "cuModuleLoad",   "cuModuleGetFunction", "cuDevicePrimaryCtxRetain",
                                          "cuCtxSetCurrent"};
  const bool needed = std::any_of(std::begin(kNeeded), std::end(kNeeded),
                                  [&](std::string_view start) { return driver_call.starts_with(start); });
  if (needed) hand_launches_on_ = false;
  return needed;
}

const char* Runtimes::launch_around(bool launches) const {
  constexpr const char* kName = "cudaLaunchKernel";
  if (!left_out_ || t_this.runtime_call != nullptr) return nullptr;
  const Caller caller = caller_of_driver();
  // What is linked in has no symbols to tell a launch from what looks for a kernel.
  if (caller.library == 0)
    return launches && caller.entered != 0 && is_linked_in(caller.module.begin) ? kName : nullptr;
  LoadedLibrary symbols;
  if (!symbols.read(caller.module)) return nullptr;
  for (const char* name : {"cudaLaunchKernel", "cudaLaunchKernel_ptsz"}) {
    const std::span<const std::byte> code = symbols.code(name);
    const auto begin = reinterpret_cast<std::uintptr_t>(code.data());
    if (caller.entered >= begin && caller.entered < begin + code.size()) return kName;
  }
  return nullptr;
}

}  // namespace cudadiag::record
