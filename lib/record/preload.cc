// Loaded into each process of `run --once` by LD_PRELOAD. In this mode, the driver must not load the recorder, because
// a driver with an injection library writes no GPU core dumps. This library only waits until the process has loaded
// libcuda. It then loads the recorder, which redirects the driver's functions to itself.
//
// libcuda is loaded at program start, or by a dlopen of libcuda or of a library that needs it. The dynamic linker
// searches the RUNPATH of the caller of dlopen. Where this can matter, the dlopen in this file ends with a tail call to
// the real one, which then sees the original caller. The recorder is then loaded at the next dlopen.

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <climits>

namespace {

using Open = void* (*)(const char*, int);

constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kRecorder = "libcudadiag_record.so";

Open g_open;
bool g_looking, g_done;

// Stores the path of the recorder, which is in the same folder as this library. Returns false if the path is too long.
bool find_recorder(char* path, size_t size) {
  Dl_info own{};
  if (dladdr(reinterpret_cast<void*>(&find_recorder), &own) == 0 || own.dli_fname == nullptr) return false;
  const char* slash = strrchr(own.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash + 1 - own.dli_fname);
  const int written = snprintf(path, size, "%.*s%s", folder, own.dli_fname, kRecorder);
  return written > 0 && static_cast<size_t>(written) < size;
}

[[gnu::noinline]] void look_for_driver() {
  if (g_done || __atomic_exchange_n(&g_looking, true, __ATOMIC_ACQUIRE)) return;
  void* driver = g_open == nullptr ? nullptr : g_open(kDriver, RTLD_NOW | RTLD_NOLOAD);
  if (driver != nullptr) {
    dlclose(driver);
    g_done = true;
    char path[PATH_MAX];
    void* recorder = find_recorder(path, sizeof path) ? g_open(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (recorder != nullptr) {
      const auto follow = reinterpret_cast<void (*)()>(dlsym(recorder, "cudadiag_follow_driver"));
      if (follow != nullptr) follow();
    }
  }
  __atomic_store_n(&g_looking, false, __ATOMIC_RELEASE);
}

bool names_driver(const char* file) {
  if (file == nullptr) return false;
  const char* slash = strrchr(file, '/');
  return strncmp(slash == nullptr ? file : slash + 1, "libcuda.so", strlen("libcuda.so")) == 0;
}

// Returns whether the dynamic linker opens the file without regard to the caller.
bool says_where(const char* file) {
  return file != nullptr && strchr(file, '/') != nullptr && strchr(file, '$') == nullptr;
}

[[gnu::noinline]] void* open_and_look(const char* file, int mode) {
  void* library = g_open(file, mode);
  if (library != nullptr) look_for_driver();
  return library;
}

[[gnu::constructor]] void start() {
  g_open = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "dlopen"));
  look_for_driver();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlopen(const char* file, int mode) {
  if (g_open == nullptr) start();
  if (says_where(file)) return open_and_look(file, mode);
  if (names_driver(file)) {
    // Only the caller's RUNPATH may lead to the driver.
    if (void* driver = open_and_look(file, mode)) return driver;
  }
  look_for_driver();
  return g_open(file, mode);
}
