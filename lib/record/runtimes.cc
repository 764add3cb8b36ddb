#include "record/runtimes.h"

#include <stdlib.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <climits>
#include <iterator>
#include <span>

#include "record/executable_symbols.h"
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
class Caller {
 public:
  Caller();
  bool known() const { return count_ != 0; }
  const LoadedModule& module() const { return module_; }
  int library() const { return library_; }  // its major version, if it is a runtime's
  bool is_executable() const { return known() && contains(getauxval(AT_PHDR)); }
  // The call went through this code of the module.
  bool is_in(CodeRange code) const {
    const auto calls = std::span(room_->calls).first(count_);
    return std::any_of(calls.begin(), calls.end(), [&](std::uintptr_t address) { return code.has(address); });
  }

 private:
  struct Room {
    std::array<UnwoundFrame, 24> frames;
    std::array<std::uintptr_t, 24> calls;  // in the module
    std::array<char, PATH_MAX> path;
  };

  bool contains(std::uintptr_t address) const { return address >= module_.begin && address < module_.end; }

  const Scratch<Room> room_;
  LoadedModule module_{};
  std::size_t count_ = 0;
  int library_ = 0;
};

[[gnu::noinline]] Caller::Caller() {
  constexpr std::string_view kLibrary = "libcudart.so.";
  LoadedModule own, module;
  if (!room_ || !Modules::find(reinterpret_cast<std::uintptr_t>(&kHandsOn), own)) return;
  bool truncated = false;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::size_t count = unwind(here, 0, 0, room_->frames, truncated);
  for (const UnwoundFrame& frame : std::span(room_->frames).first(count)) {
    const std::uintptr_t address = frame.return_address - 1;
    if (!Modules::find(address, module)) return;
    if (module.begin == own.begin) continue;
    std::string_view name = Modules::path(module, room_->path);
    name.remove_prefix(name.rfind('/') + 1);
    // The runtimes begin by pthread_once.
    if (name.starts_with("libcuda.so") || name.starts_with("libcupti.so") || name.starts_with("libc.so")) continue;
    if (count_ != 0 && module.begin != module_.begin) return;
    module_ = module;
    library_ = name.starts_with(kLibrary) ? atoi(name.data() + kLibrary.size()) : 0;
    room_->calls[count_++] = address;
  }
}

// Those of a runtime that is linked into the executable; both empty: there is none that is known to hand launches on.
std::array<CodeRange, 2> launches_linked_in(std::uintptr_t bias) {
  // All functions of the static library are one object. The first came with CUDA 13.
  constexpr std::string_view kNames[] = {"cudaDeviceGetHostAtomicCapabilities", "cudaLaunchKernel",
                                         "cudaLaunchKernel_ptsz"};
  std::array<CodeRange, std::size(kNames)> found{};
  find_in_executable(kNames, found);
  if (found[0].end == 0) return {};
  for (CodeRange& code : found) {
    if (code.end != 0) code = {code.begin + bias, code.end + bias};
  }
  return {found[1], found[2]};
}

}  // namespace

void Runtimes::meet_first() {
  LoadedModule executable;
  if (Modules::find(getauxval(AT_PHDR), executable)) launches_ = launches_linked_in(executable.bias);
  const Caller caller;
  const bool linked_in = launches_.front().end != 0 && caller.is_executable();
  hand_launches_on_ = left_out_ = linked_in || caller.library() >= kHandsOn;
}

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
  const Caller caller;
  if (!caller.known() || caller.library() != 0 || caller.is_executable()) return;
  const std::uintptr_t module = caller.module().begin;
  for (auto& each : linked_in_) {
    std::uintptr_t free = 0;
    if (each.compare_exchange_strong(free, module) || free == module) return;
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
  const Caller caller;
  if (!caller.known()) return nullptr;
  if (caller.library() != 0) {
    LoadedLibrary symbols;
    if (!symbols.read(caller.module())) return nullptr;
    for (const char* name : {"cudaLaunchKernel", "cudaLaunchKernel_ptsz"}) {
      const std::span<const std::byte> code = symbols.code(name);
      const auto begin = reinterpret_cast<std::uintptr_t>(code.data());
      if (caller.is_in({begin, begin + code.size()})) return kName;
    }
    return nullptr;
  }
  if (std::any_of(launches_.begin(), launches_.end(), [&](CodeRange code) { return caller.is_in(code); })) return kName;
  // What is linked into a library has no symbols to tell a launch from what looks for a kernel.
  return launches && is_linked_in(caller.module().begin) ? kName : nullptr;
}

}  // namespace cudadiag::record
