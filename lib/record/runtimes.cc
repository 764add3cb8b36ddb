#include "record/runtimes.h"

#include <cupti.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <climits>

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

// A runtime's library that calls into the driver.
struct Library {
  int major = 0;  // of its version; 0: there is none
  LoadedModule module;
  std::uintptr_t entered = 0;  // an address in the function of it that was called from outside
};

struct Names {
  std::array<UnwoundFrame, 32> frames;
  std::array<char, PATH_MAX> path;
};

Library calling_library() {
  constexpr std::string_view kName = "libcudart.so.";
  Library library;
  LoadedModule own, module;
  const Scratch<Names> names;
  bool truncated = false;
  if (!names || !Modules::find(reinterpret_cast<std::uintptr_t>(&calling_library), own)) return {};
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::size_t count = unwind(here, 0, 0, names->frames, truncated);
  for (const UnwoundFrame& frame : std::span(names->frames).first(count)) {
    const std::uintptr_t address = frame.return_address - 1;
    if (!Modules::find(address, module)) break;
    if (module.begin == own.begin) continue;
    std::string_view name = Modules::path(module, names->path);
    name.remove_prefix(name.rfind('/') + 1);
    if (name.starts_with(kName)) {
      library = {atoi(name.data() + kName.size()), module, address};
    } else if (!name.starts_with("libcuda.so") && !name.starts_with("libcupti.so") && !name.starts_with("libc.so")) {
      break;
    }
  }
  return library;
}

}  // namespace

void Runtimes::meet_first() { hand_launches_on_ = calling_library().major >= kHandsOn; }

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
  if (runtime && !hands_on) hand_launches_on_ = false;
}

bool Runtimes::failed(std::string_view driver_call) {
  constexpr std::string_view kNeeded[] = {"cuLibrary", "cuModule", "cuKernel", "cuFunc", "cuDevicePrimaryCtx"};
  const bool needed = std::any_of(std::begin(kNeeded), std::end(kNeeded),
                                  [&](std::string_view start) { return driver_call.starts_with(start); });
  if (needed) hand_launches_on_ = false;
  return needed;
}

bool Runtimes::is_left_out(std::uint32_t runtime_call) {
  return runtime_call == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 ||
         runtime_call == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000;
}

const char* Runtimes::launch_around() {
  const Library library = calling_library();
  LoadedLibrary symbols;
  if (library.major == 0 || !symbols.read(library.module)) return nullptr;
  for (const char* name : {"cudaLaunchKernel", "cudaLaunchKernel_ptsz"}) {
    const std::span<const std::byte> code = symbols.code(name);
    const auto begin = reinterpret_cast<std::uintptr_t>(code.data());
    if (library.entered >= begin && library.entered < begin + code.size()) return "cudaLaunchKernel";
  }
  return nullptr;
}

}  // namespace cudadiag::record
