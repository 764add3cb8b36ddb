#include "record/hooks/runtimes.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <span>

#include "record/hooks/redirection.h"
#include "record/libc_substitutes.h"
#include "record/stacks/modules.h"
#include "record/stacks/unwinder.h"
#include "record/this_thread.h"
#include "wire/name_patterns.h"

namespace cudadiag::record {

namespace {

constexpr int kHandsOn = 13;  // the first major version that passes all launches on to the driver
// A runtime looks up at least this many driver functions. A program that uses the driver directly looks up only a few.
constexpr std::uint32_t kFunctionsOfARuntime = 100;

// Finds the module that called the driver: the innermost one on the stack except the recorder, the driver and CUPTI.
class Caller {
 public:
  Caller();
  bool known() const { return count_ != 0; }
  const LoadedModule& module() const { return module_; }
  bool is_executable() const { return known() && is_in_executable(module_); }
  int library() const { return library_; }  // the major version of libcudart; 0 for other modules
  // Returns true if a return address on the stack lies in `code`.
  bool is_in(CodeRange code) const {
    const auto calls = std::span(room_->calls).first(count_);
    return std::any_of(calls.begin(), calls.end(), [&](std::uintptr_t address) { return code.has(address); });
  }

 private:
  struct Room {
    std::array<UnwoundFrame, 24> frames;
    std::array<std::uintptr_t, 24> calls;  // addresses of calls in the module
    std::array<char, PATH_MAX> path;
  };

  static bool is_in_executable(const LoadedModule& module) {
    const std::uintptr_t headers = getauxval(AT_PHDR);
    return headers >= module.begin && headers < module.end;
  }

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
    const bool goes_on = count_ != 0 && module.begin == module_.begin;
    // The executable's name is not looked up, because that would need a system call.
    std::string_view name = goes_on || is_in_executable(module) ? "" : Modules::path(module, room_->path);
    name.remove_prefix(name.rfind('/') + 1);
    // libc is skipped because runtimes initialise themselves in pthread_once, which is a libc function.
    if (name.starts_with("libcuda.so") || name.starts_with("libcupti.so") || name.starts_with("libc.so")) continue;
    if (count_ != 0 && !goes_on) return;
    if (count_ == 0)
      library_ = name.starts_with(kLibrary)
                     ? static_cast<int>(leading_number(wire::library_paths::part(name, kLibrary.size())))
                     : 0;
    module_ = module;
    room_->calls[count_++] = address;
  }
}

using Launches = std::array<CodeRange, std::size(Runtimes::kLeftOut)>;

// Finds the launch functions of the runtime that is linked into the executable. Returns an empty result unless the
// executable contains exactly one runtime and this runtime passes launches on to the driver. Two symbols show the
// version: version 13 added one and removed the other. The static library has all functions in one object file, so a
// missing symbol shows that the runtime lacks the function.
Launches launches_linked_in() {
  constexpr const char* kCameWith13 = "cudaDeviceGetHostAtomicCapabilities";
  constexpr const char* kWentWith13 = "cudaThreadSynchronize";
  NamedFunction names[] = {
      {kCameWith13}, {kWentWith13}, {Runtimes::kLeftOut[0].function}, {Runtimes::kLeftOut[1].function}};
  const bool all = find_in_executable(names);
  LoadedModule module;
  if (!all || names[0].times != 1 || names[1].times != 0 || names[2].times != 1 || names[3].times > 1 ||
      !Modules::find(getauxval(AT_PHDR), module)) {
    return {};
  }
  Launches launches;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const CodeRange code = names[2 + i].code;
    if (names[2 + i].times != 0) launches[i] = {code.begin + module.bias, code.end + module.bias};
  }
  return launches;
}

Launches launches_in(const LoadedModule& library) {
  Launches launches;
  LoadedLibrary symbols;
  if (!symbols.read(library)) return launches;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::span<const std::byte> code = symbols.code(Runtimes::kLeftOut[i].function);
    const auto begin = reinterpret_cast<std::uintptr_t>(original_of(const_cast<std::byte*>(code.data())));
    launches[i] = {begin, begin + code.size()};
  }
  return launches;
}

// Files that may have a runtime. The names are copied, because another thread may close a library.
struct LoadedFiles {
  static constexpr std::size_t kMost = 256;

  std::uintptr_t addresses[kMost];
  char paths[kMost][PATH_MAX];
  std::size_t count;
};

int add_file(dl_phdr_info* info, std::size_t, void* data) {
  auto& files = *static_cast<LoadedFiles*>(data);
  const auto address = reinterpret_cast<std::uintptr_t>(info->dlpi_phdr);
  if (files.count == LoadedFiles::kMost) return 1;
  char* path = files.paths[files.count];
  if (address != getauxval(AT_PHDR)) {
    strncpy(path, info->dlpi_name == nullptr ? "" : info->dlpi_name, PATH_MAX - 1);
  } else if (readlink("/proc/self/exe", path, PATH_MAX - 1) < 0) {
    return 0;
  }
  const int version = runtime_version(path);
  const bool is_unknown = version != 0 && !is_known_runtime(version);
  if (is_unknown || wire::library_paths::is_module_of_users(path)) files.addresses[files.count++] = address;
  return 0;
}

}  // namespace

bool Runtimes::each_unseen(bool (*visit)(const char* path, void* data), void* data, bool looks_for_callers) {
  constexpr std::string_view kText = "cudaErrorLaunchMaxDepthExceeded";  // every runtime can print this name
  static constinit std::array<std::uintptr_t, LoadedFiles::kMost> seen{};
  static constinit std::atomic_flag busy{};
  if (busy.test_and_set(std::memory_order_acquire)) return false;  // waiting could block: see redirect_runtimes()
  bool called = false;
  const Scratch<LoadedFiles> files;
  if (files) dl_iterate_phdr(add_file, &*files);
  for (std::size_t i = 0; files && i < files->count; ++i) {
    called = called || (looks_for_callers && has_text(files->paths[i], ".dynstr", "libcudart.so"));
    const auto known = std::find(seen.begin(), seen.end(), files->addresses[i]);
    const auto free = std::find(seen.begin(), seen.end(), std::uintptr_t{0});
    if (known != seen.end() || free == seen.end()) continue;
    *free = files->addresses[i];
    if (has_text(files->paths[i], ".rodata", kText) && !visit(files->paths[i], data)) *free = 0;
  }
  busy.clear(std::memory_order_release);
  return called;
}

void Runtimes::meet_first() {
  const Caller caller;
  const bool library = caller.library() >= kHandsOn;
  if (!library && !caller.is_executable()) return;
  linked_launches_ = launches_linked_in();
  hand_launches_on_ = library || knows_executable();
}

void Runtimes::looked_up(std::string_view function, int version) {
  // A runtime looks up cuInit first, so earlier look-ups on this thread belong to another runtime.
  if (function == "cuInit") t_this.looked_up = 0, t_this.newest_looked_up = 0;
  if (t_this.looked_up < UINT8_MAX) ++t_this.looked_up;
  if (version > t_this.newest_looked_up) {
    t_this.newest_looked_up = static_cast<std::uint16_t>(std::min(version, int{UINT16_MAX}));
  }
}

bool Runtimes::initialised() {
  const bool runtime = t_this.looked_up >= kFunctionsOfARuntime;
  const bool hands_on = t_this.newest_looked_up >= kHandsOn * 1000;
  t_this.looked_up = 0, t_this.newest_looked_up = 0;
  if (!runtime) return false;
  if (!hands_on) hand_launches_on_ = false;
  remember_linked_in();
  return true;
}

void Runtimes::remember_linked_in() {
  const Caller caller;
  if (!caller.known() || caller.library() != 0 || (caller.is_executable() && knows_executable())) return;
  const std::uintptr_t module = caller.module().begin;
  for (auto& each : linked_in_) {
    std::uintptr_t free = 0;
    if (each.compare_exchange_strong(free, module) || free == module) return;
  }
}

bool Runtimes::is_linked_in(std::uintptr_t module) const {
  return std::any_of(linked_in_.begin(), linked_in_.end(), [&](const auto& each) { return each == module; });
}

const char* Runtimes::failed(std::string_view driver_call, bool launches) {
  constexpr std::string_view kNeeded[] = {"cuLibraryLoad",  "cuLibraryGetKernel",  "cuKernelGetFunction",
                                          "cuModuleLoad",   "cuModuleGetFunction", "cuDevicePrimaryCtxRetain",
                                          "cuCtxSetCurrent"};
  constexpr std::uint32_t kMostWalks = 16;  // after this many stack walks, callbacks would have been cheaper
  const bool needed = std::any_of(std::begin(kNeeded), std::end(kNeeded),
                                  [&](std::string_view start) { return driver_call.starts_with(start); });
  if (!hand_launches_on() || !(needed || launches)) return nullptr;
  const char* name = t_this.runtime_call == nullptr ? launch_around(launches) : nullptr;
  if (needed || ++walks_ >= kMostWalks) hand_launches_on_ = false;
  return name;
}

const char* Runtimes::launch_around(bool launches) const {
  constexpr const char* kName = kLeftOut[0].function;
  const Caller caller;
  if (!caller.known()) return nullptr;
  const bool symbols = caller.library() != 0 || (caller.is_executable() && knows_executable());
  // For a runtime that is linked into another library, no symbols distinguish a launch from a look-up of a kernel.
  if (!symbols) return launches && is_linked_in(caller.module().begin) ? kName : nullptr;
  const Launches left_out = caller.library() != 0 ? launches_in(caller.module()) : linked_launches_;
  const auto came_through = [&](CodeRange code) { return caller.is_in(code); };
  return std::any_of(left_out.begin(), left_out.end(), came_through) ? kName : nullptr;
}

}  // namespace cudadiag::record
