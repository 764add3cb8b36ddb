// A user's profiler plugin. It writes all calls to LOGGING_FILE, and makes up handles for contexts and events. It
// exports only the function table of version LOGGING_VERSION, and requests the events of LOGGING_MASK.
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "record/nccl_profiler.h"

namespace profiler = cudadiag::record::profiler;

namespace {

int version() { return std::atoi(std::getenv("LOGGING_VERSION")); }

std::uintptr_t last_handle;  // the last one given to a context or event

void* new_handle() { return reinterpret_cast<void*>(++last_handle * 0x100); }

std::FILE* log_file() {
  static std::FILE* const file = std::fopen(std::getenv("LOGGING_FILE"), "we");
  if (!file) std::abort();
  return file;
}

template <typename... Values>
void log(const char* format, Values... values) {
  std::fprintf(log_file(), format, values...);
  std::fflush(log_file());
}

int begin(void** context, int* mask, const char* name, unsigned long hash, int ranks, int rank) {
  *context = new_handle();
  *mask = std::atoi(std::getenv("LOGGING_MASK"));
  log("init %d name=%s hash=%lx ranks=%d rank=%d: %p\n", version(), name, hash, ranks, rank, *context);
  return profiler::kSuccess;
}

int init(void** context, int* mask) { return begin(context, mask, "", 0, 0, 0); }
int init(void** context, int* mask, const char* name, std::uint64_t hash, int, int ranks, int rank, profiler::Log) {
  return begin(context, mask, name, hash, ranks, rank);
}
int init(void** context, std::uint64_t hash, int* mask, const char* name, int, int ranks, int rank, profiler::Log) {
  return begin(context, mask, name, hash, ranks, rank);
}

int start_event(void* context, void** handle, void* event) {
  const auto& head = *static_cast<const profiler::EventHead*>(event);
  *handle = new_handle();
  const unsigned long type = version() < 5 ? head.type & 0xff : head.type;
  log("start %lx of %p in %p rank=%d: %p\n", type, head.parent, context, head.rank, *handle);
  return profiler::kSuccess;
}

int stop_event(void* handle) { return log("stop %p\n", handle), profiler::kSuccess; }
int record_state(void* handle, int state, void*) { return log("state %d of %p\n", state, handle), profiler::kSuccess; }
int finalize(void* context) { return log("finalize %p\n", context), profiler::kSuccess; }

template <typename Init>
profiler::Table<Init> table = {"logging", &init, &start_event, &stop_event, &record_state, &finalize};

using Anything = void (*)();

template <typename Init>
Anything found(int wanted) {
  return version() == wanted ? reinterpret_cast<Anything>(&table<Init>) : nullptr;
}

}  // namespace

#define PROFILER(number, type)                                                                             \
  extern "C" {                                                                                             \
  [[gnu::visibility("hidden")]] Anything sim_resolve_v##number() { return found<profiler::type>(number); } \
  __attribute__((visibility("default"), ifunc("sim_resolve_v" #number))) void ncclProfiler_v##number();    \
  }

PROFILER(2, InitUnnamed)
PROFILER(3, InitUnnamed)
PROFILER(4, InitNamed)
PROFILER(5, InitById)
PROFILER(6, InitById)
