#include "record/process_life.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "record/libc_substitutes.h"
#include "record/this_thread.h"
#include "wire/environment.h"
#include "wire/pass_files.h"

// A function of the C++ ABI. Given a null argument, it runs all atexit() handlers and static destructors that have not
// started yet, newest first.
extern "C" void __cxa_finalize(void* library);

namespace cudadiag::record {
namespace {

// Reads a file of /proc, truncated to the size of the buffer. The words of a command line are separated by NULs.
std::string_view read_file(const char* path, std::span<char> buffer) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t size = read(fd, buffer.data(), buffer.size());
  close(fd);
  return {buffer.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
}

// Finds "580.159.04" in "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build …": the
// first word that consists of digits and dots.
std::string_view driver_version(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word(text.data() + at, end - at);
    if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos) return word;
    at = end;
  }
  return {};
}

// Stores the value of the first of these variables that is set. Returns false if none of them is set.
bool store_first_of(Interner& interner, const char* key, std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    if (const char* value = getenv(variable)) return interner.property(key, value), true;
  }
  return false;
}

}  // namespace

void describe_process(Interner& interner) {
  char text[8192];
  interner.property("driver", driver_version(read_file("/proc/driver/nvidia/version", text)));
  interner.property("argv", read_file("/proc/self/cmdline", text));
  const ssize_t length = readlink("/proc/self/exe", text, sizeof text);
  if (length > 0) interner.property("exe", {text, static_cast<std::size_t>(length)});
  if (getcwd(text, sizeof text) != nullptr) interner.property("cwd", text);
  if (gethostname(text, HOST_NAME_MAX) == 0) interner.property("host", text);
  for (const auto& [size, rank] : wire::kRankVariables) {
    if (store_first_of(interner, "rank", {rank})) break;
  }
  // PyTorch also uses the first of these variables that is set.
  store_first_of(interner, "flight_recorder", {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"});
  // These variables change CUDA's behaviour. Stores the values that they have when CUDA is initialised.
  for (const char* variable : {"CUDA_VISIBLE_DEVICES", LaunchBlocking::kVariable}) {
    const char* value = getenv(variable);
    if (value == nullptr) continue;
    char key[64];
    snprintf(key, sizeof key, "env.%s", variable);
    interner.property(key, value);
  }
}

namespace {

// Returns the variable's value. Returns null if the variable has no effect, because it is unset, empty or "0".
const char* value_in_effect() {
  const char* value = getenv(LaunchBlocking::kVariable);
  return value == nullptr || *value == '\0' || strcmp(value, "0") == 0 ? nullptr : value;
}

}  // namespace

void LaunchBlocking::context_made() {
  if (value_in_effect() != nullptr) may_block_ = true;
}

void LaunchBlocking::note_if_set_late(Interner& interner) const {
  const char* value = may_block_ ? nullptr : value_in_effect();
  if (value != nullptr) interner.property("late.CUDA_LAUNCH_BLOCKING", value);
}

// Uses the driver's functions instead of environment variables, because the program's children would inherit the
// variables.
const char* CoreDump::arm(const DriverApi& driver, Interner& interner, const char* folder, std::uint64_t start) {
  namespace core_dump = wire::core_dump;
  const auto make_path = [&](std::span<char> path, const char* suffix) {
    const auto name = core_dump::file_name(static_cast<std::uint32_t>(getpid()), start, suffix);
    const int written = folder == nullptr ? -1 : snprintf(path.data(), path.size(), "%s/%s", folder, name.text);
    return written >= 0 && static_cast<std::size_t>(written) < path.size();
  };
  if (!make_path(file_, core_dump::kSuffix) || !make_path(pipe_, core_dump::kPipeSuffix) ||
      !make_path(request_, core_dump::kRequestSuffix)) {
    interner.note("core-dump-off", "no GPU core dump was possible without a session folder");
    return nullptr;
  }
  if (driver.coredump_set_attribute_global == nullptr) {
    interner.note("core-dump-off",
                  "the driver is too old to write a GPU core dump on request (needs CUDA 12.1 or later)");
    return nullptr;
  }
  const auto set = [&](CUcoredumpSettings setting, void* value, std::size_t size) {
    return driver.coredump_set_attribute_global(setting, value, &size);
  };
  // In our tests, the driver never finished a dump that included the constant banks.
  int left_out = CU_COREDUMP_SKIP_NONRELOCATED_ELF_IMAGES | CU_COREDUMP_SKIP_GLOBAL_MEMORY |
                 CU_COREDUMP_SKIP_SHARED_MEMORY | CU_COREDUMP_SKIP_LOCAL_MEMORY | CU_COREDUMP_SKIP_CONSTBANK_MEMORY;
  bool yes = true;
  CUresult result = set(CU_COREDUMP_FILE, file_, strlen(file_) + 1);
  if (result == CUDA_SUCCESS) result = set(CU_COREDUMP_GENERATION_FLAGS, &left_out, sizeof left_out);
  if (result == CUDA_SUCCESS) result = set(CU_COREDUMP_ENABLE_ON_EXCEPTION, &yes, sizeof yes);
  if (result != CUDA_SUCCESS) {
    char text[64];
    snprintf(text, sizeof text, "the driver cannot write GPU core dumps (error %d)", static_cast<int>(result));
    interner.note("core-dump-off", text);
    return nullptr;
  }
  // The driver does not change the pipe once requests are enabled. Without the pipe, only requests are impossible.
  if (set(CU_COREDUMP_PIPE, pipe_, strlen(pipe_) + 1) == CUDA_SUCCESS) {
    set(CU_COREDUMP_ENABLE_USER_TRIGGER, &yes, sizeof yes);
  }
  interner.property(core_dump::kProperty, core_dump::kArmed);
  return file_;
}

bool CoreDump::take_request(Interner& interner) {
  if (was_requested_) return true;
  if (access(request_, F_OK) != 0) return false;
  interner.property(wire::core_dump::kProperty, wire::core_dump::kRequested);
  was_requested_ = unlink(request_) == 0;
  return was_requested_;
}

namespace area = wire::area;

namespace {

constexpr bool always() { return true; }

}  // namespace

void ExitProbe::attach(AreaMap& area, Interner& interner, const DriverApi& driver, Streams& streams, Failures& failures,
                       Threads& threads) {
  area_ = &area;
  interner_ = &interner;
  driver_ = &driver;
  streams_ = &streams;
  failures_ = &failures;
  threads_ = &threads;
}

// Waits for the unfinished work of the contexts for which `ends(handle, device)` returns true, because they are about
// to be destroyed. Waits only for a short time, and only while `may_wait()` returns true.
template <typename Ends, typename MayWait>
void ExitProbe::find_faults(Ends ends, MayWait may_wait) {
  constexpr std::uint64_t kPatience = 500'000'000;  // ns
  const std::uint64_t deadline = nanoseconds(CLOCK_MONOTONIC) + kPatience;
  const bool can_ask = driver_->ctx_push_current != nullptr && driver_->ctx_pop_current != nullptr &&
                       driver_->stream_query != nullptr && !streams_->capture_going_on();
  if (!can_ask) return;
  const Uncancelled uncancelled;
  streams_->each_unfinished([&](CUcontext context, CUstream stream, std::uint32_t flags, std::uint32_t index) {
    const std::uint32_t at =
        wire::load(area_->region(area::Region::streams) + index * area::kStreamSize, wire::stream::kContext);
    const std::uint32_t device =
        wire::load(area_->region(area::Region::contexts) + at * area::kContextSize, wire::context::kDevice);
    // Skips the default streams of other threads, for which this thread has no handle.
    if ((flags & wire::stream::kPerThread) != 0 || failures_->frozen() || !ends(context, device)) return;
    if (driver_->ctx_push_current(context) != CUDA_SUCCESS) return;
    CUresult result;
    while ((result = driver_->stream_query(stream)) == CUDA_ERROR_NOT_READY &&
           nanoseconds(CLOCK_MONOTONIC) < deadline && may_wait()) {
      const timespec pause = {0, 200'000};
      nanosleep(&pause, nullptr);
    }
    CUcontext popped = nullptr;
    driver_->ctx_pop_current(&popped);
    if (!is_sticky(static_cast<std::uint32_t>(result))) return;
    failures_->add(nullptr, {wire::error::Domain::driver, 0, "cuStreamQuery", static_cast<std::uint32_t>(result), 0,
                             index, at, nullptr, false, true, false});
  });
}

void ExitProbe::at_exit(int status, ExitingThread thread) {
  const bool recording = !failures_->frozen() && area_->state() != area::State::disabled;
  if (recording && status != 0 && thread.may_lock && area_->may_have_others()) {
    char others[1024];
    if (const auto found = others_at_work(others); !found.empty()) interner_->property("left_at_work", found);
  }
  area_->set_exit_status(status);
  if (!recording) return;
  if (thread.may_ask_driver) {
    // Does not wait while other threads are inside driver calls. During a wait, such a call could return into a runtime
    // whose static destructors have already run, and crash.
    const auto others_rest = [this] { return !threads_->others_are_in_calls(t_this.state); };
    find_faults([](CUcontext, std::uint32_t) { return true; }, others_rest);
  }
  if (failures_->frozen()) return;
  area_->calibrate();
  area_->set_state(area::State::finished);
}

void ExitProbe::before_context_ends(std::uint32_t id, const CUpti_CallbackData& data) {
  if (failures_->frozen()) return;
  if (id == CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2) {
    const CUcontext ending = static_cast<const cuCtxDestroy_v2_params*>(data.functionParams)->ctx;
    find_faults([&](CUcontext context, std::uint32_t) { return context == ending; }, always);
  } else {
    const auto ending =
        static_cast<std::uint32_t>(static_cast<const cuDevicePrimaryCtxReset_v2_params*>(data.functionParams)->dev);
    find_faults([&](CUcontext, std::uint32_t device) { return device == ending; }, always);
  }
}

void ExitProbe::before_device_reset() {
  CUdevice current = 0;
  if (failures_->frozen() || driver_->ctx_get_device(&current) != CUDA_SUCCESS) return;
  find_faults([&](CUcontext, std::uint32_t device) { return device == static_cast<std::uint32_t>(current); }, always);
}

namespace {

// How long a second thread that calls exit() waits for the first one before it runs handlers itself. The wait is
// limited, because a handler on the first thread may be waiting for the second thread.
constexpr std::uint64_t kPatience = 1'000'000'000;  // ns
// How many copies of our handler are in libc's list. Each thread that calls exit() takes one copy and then registers a
// replacement, which needs libc's lock. Other threads may get the lock first, and each of them takes a further copy.
constexpr int kCopies = 64;

void (*g_first)(int status);
std::atomic<bool> g_begun;
std::atomic<int> g_running;   // threads inside handlers
std::atomic<bool> g_leaving;  // one thread has returned to libc, which frees its blocks and ends the process
thread_local bool t_running;

void wait_for_first() {
  const Uncancelled uncancelled;
  const std::uint64_t deadline = nanoseconds(CLOCK_MONOTONIC) + kPatience;
  while (!g_leaving.load() && nanoseconds(CLOCK_MONOTONIC) < deadline) {
    const timespec pause = {0, 200'000};
    nanosleep(&pause, nullptr);
  }
}

[[noreturn]] void wait_for_end() {
  t_running = false;  // so that exit() in a signal handler also waits
  const Uncancelled uncancelled;
  for (;;) pause();
}

void run_handlers(int status, void*) {
  if (!is_own_process()) return;                // a forked child: the other handlers belong to the parent
  if (t_running) return g_leaving.store(true);  // a handler has called exit()
  on_exit(run_handlers, nullptr);
  if (g_begun.exchange(true)) {
    wait_for_first();
  } else {
    t_running = true;  // set before g_first(), because a signal handler may call exit()
    g_first(status);
  }
  if (g_leaving.load()) wait_for_end();
  t_running = true;
  g_running.fetch_add(1);
  __cxa_finalize(nullptr);
  if (g_leaving.exchange(true)) wait_for_end();
  if (g_running.load() == 1) return;
  // Exits at once, because libc must not free the blocks of the handlers that other threads are still running.
  fflush(nullptr);
  _exit(status);
}

void run_first(int status, void*) { g_first(status); }

// Returns false for glibc 2.41 and later, which let only one thread run exit handlers.
bool libc_frees_too_early() {
  constexpr char kTwo[] = "glibc 2.";
  char version[32] = "";
  confstr(_CS_GNU_LIBC_VERSION, version, sizeof version);
  return strncmp(version, kTwo, sizeof kTwo - 1) == 0 && leading_number(version + sizeof kTwo - 1) < 41;
}

}  // namespace

void run_at_exit(void (*first)(int status)) {
  g_first = first;
  if (!libc_frees_too_early()) {
    on_exit(run_first, nullptr);
  } else {
    for (int i = 0; i < kCopies; ++i) on_exit(run_handlers, nullptr);
  }
}

namespace {

void* end_process(void*) {
  constexpr timespec kMessageTime = {1, 0}, kGrace = {2, 0};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &kMessageTime, nullptr);
  kill(getpid(), SIGTERM);
  clock_nanosleep(CLOCK_MONOTONIC, 0, &kGrace, nullptr);
  _exit(128 + SIGTERM);
}

}  // namespace

// The thread receives no signals, because a handler of the program must not run on it.
void end_soon() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, end_process, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  started ? pthread_detach(thread) : kill(getpid(), SIGTERM);
}

}  // namespace cudadiag::record
