#include "record/python/caching_allocator.h"

#include <atomic>
#include <bit>
#include <cstddef>

#include "record/hooks/redirection.h"
#include "record/stacks/loaded_library.h"

namespace cudadiag::record::caching_allocator {
namespace {

// void c10::reportOutOfMemoryToProfiler(std::int64_t, std::size_t, std::size_t, c10::Device)
constexpr const char* kReport = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE";
// c10::Device has two bytes: the kind of device and its number.
using Report = void (*)(std::int64_t bytes, std::size_t allocated, std::size_t reserved, std::uint16_t device);

std::atomic<Report> g_report = nullptr;
std::atomic<Refused> g_refused = nullptr;
std::atomic<bool> g_found = false;
std::atomic<std::uint32_t> g_occasions = 0;

void report(std::int64_t bytes, std::size_t allocated, std::size_t reserved, std::uint16_t device) {
  g_refused.load(std::memory_order_acquire)(static_cast<std::uint64_t>(bytes));
  g_report.load(std::memory_order_acquire)(bytes, allocated, reserved, device);
}

}  // namespace

void listen(Refused refused) {
  g_refused.store(refused, std::memory_order_release);
  look();
}

void look() {
  if (g_found.load(std::memory_order_relaxed) || g_refused.load(std::memory_order_acquire) == nullptr) return;
  if (!std::has_single_bit(g_occasions.fetch_add(1, std::memory_order_relaxed) + 1)) return;
  LoadedLibrary allocator, base;
  LoadedModule module;
  if (!allocator.find("libc10_cuda.so", &module) || !base.find("libc10.so") || g_found.exchange(true)) return;
  const auto function = reinterpret_cast<Report>(base.function(kReport));
  if (function == nullptr) return;
  g_report.store(function, std::memory_order_release);
  redirect_calls(module, kReport, reinterpret_cast<void*>(report));
}

}  // namespace cudadiag::record::caching_allocator
