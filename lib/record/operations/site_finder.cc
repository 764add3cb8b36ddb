// Where an operation was issued: the stacks and the kernel of a call, and its identity among the sites.
#include "record/recorder.h"
#include "record/stacks/thread_stacks.h"
#include "record/this_thread.h"
#include "wire/hash.h"

namespace cudadiag::record {

using wire::kHashSeed;
using wire::mix;

namespace area = wire::area;
using wire::operation::Kind;

ThreadState* Recorder::acquire_thread() {
  ThreadState* thread = threads_.acquire();
  if (thread != nullptr && options_.native) {
    change_stack(*thread, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  }
  return thread;
}

// CUPTI tells it; hooks have to ask. A launch may be given a CUkernel for a CUfunction.
const char* Recorder::symbol_of(CUfunction function) const {
  const char* symbol = nullptr;
  if (function == nullptr || !watch_.by_hooks()) return nullptr;
  const RelaxedCapture relaxed(driver_);
  if (driver_.func_get_name != nullptr && driver_.func_get_name(&symbol, function) == CUDA_SUCCESS) return symbol;
  if (driver_.kernel_get_name != nullptr &&
      driver_.kernel_get_name(&symbol, reinterpret_cast<CUkernel>(function)) == CUDA_SUCCESS) {
    return symbol;
  }
  return nullptr;
}

std::uint32_t Recorder::function_id(CUfunction function, const char* symbol) {
  if (symbol == nullptr) symbol = symbol_of(function);
  if (symbol == nullptr) return 0;
  // A handle may come back as another kernel once a module has been unloaded.
  const std::uint64_t key = mix(mix(mix(kHashSeed, function_generation_.load(std::memory_order_relaxed)),
                                    reinterpret_cast<std::uint64_t>(function)),
                                reinterpret_cast<std::uint64_t>(symbol));
  if (const std::uint32_t id = functions_.find(key)) return id;
  const std::uint32_t id = interner_.function(symbol);
  const LockGuard lock(functions_mutex_);
  if (functions_.find(key) == 0) functions_.insert(key, id);
  return id;
}

void Recorder::seek_python() {
  if (python_sought_.exchange(true)) return;
  const bool found = python_.start(interner_, hook_);
  if (found && options_.native) native_.stop_at(python_.interpreter(), python_.interpreter() + 1);
  has_python_.store(found, std::memory_order_release);
}

Recorder::Place Recorder::place(ThreadState& thread, std::uint32_t id, Kind kind, std::uint32_t function,
                                std::uintptr_t frame) {
  if (options_.python && !python_sought_.load(std::memory_order_relaxed)) seek_python();
  const std::uint32_t python = has_python_.load(std::memory_order_acquire) ? python_.current() : 0;
  const std::uint64_t salt = std::uint64_t{id} << 32 | function;
  NativeStacks::Recognition recognition{};
  // Python does not close the libraries that it has opened.
  const bool closes = !has_python_.load(std::memory_order_relaxed);
  const std::uint32_t native =
      wants_native() ? native_.current(thread, frame, salt, python != 0, closes, recognition) : 0;
  const std::uint64_t stacks = mix(mix(kHashSeed, std::uint64_t{python} << 32 | native), salt);
  const std::uint64_t key = mix(stacks, std::uint64_t{thread.index} << 8 | static_cast<std::uint64_t>(kind)) | 1;
  return {python, native, key, recognition};
}

// Inside the Python hook a native stack leads to Python code of ours.
bool Recorder::wants_native() const { return options_.native && !(options_.hook && t_this.hooked); }

bool Recorder::enter_site(ThreadState& thread, std::uint32_t id, Kind kind, std::uint32_t function,
                          std::uintptr_t frame, SiteCache::Entry& entry) {
  const Place at = place(thread, id, kind, function, frame);
  const std::uint32_t found = interner_.site(at.key, at.python, at.native, function, kind, thread.index);
  if (found == 0 || found >= area::kSites) {
    area_.count(area::kDroppedSites);
    return false;
  }
  const auto key = interner_.site_key(kind, at.python, at.native, function);
  if (const StackShape* shape = at.recognition.shape) {
    entry.shape = static_cast<std::uint16_t>(shape - thread.shapes.shapes.data());
    entry.shape_key = static_cast<std::uint32_t>(shape->key);
    entry.addresses = at.recognition.addresses;
    entry.opened = at.recognition.opened;
  }
  entry.site = static_cast<std::uint16_t>(found);
  entry.armed_from = window_.empty() ? Window::kNever : window_.armed_from(key, interner_.function_key(function));
  entry.function = static_cast<std::uint16_t>(function <= 0xffff ? function : 0);
  entry.checks_its_data = interner_.checks_its_data(function);
  return true;
}

Recorder::SiteCall Recorder::site_call(ThreadState& thread, std::uint32_t id, Kind kind, CUfunction kernel,
                                       const char* symbol, std::uintptr_t frame) {
  if (options_.python && !python_sought_.load(std::memory_order_relaxed)) [[unlikely]]
    seek_python();
  const bool native = wants_native();
  std::uint64_t python = 0;
  const bool can_cache = !has_python_.load(std::memory_order_acquire) || python_.fingerprint(python);
  if (kind != Kind::kernel) kernel = nullptr, symbol = nullptr;
  const std::uint64_t key =
      wire::mix_all(function_generation_.load(std::memory_order_relaxed), reinterpret_cast<std::uint64_t>(kernel),
                    reinterpret_cast<std::uint64_t>(symbol), python, native ? frame : 0,
                    std::uint64_t{id} << 8 | static_cast<std::uint64_t>(kind)) |
      1;
  const auto stands = [&](const SiteCache::Entry& entry) { return !native || native_.stands(entry, thread, frame); };
  const SiteCache::Entry* entry = can_cache ? thread.sites.find(key, stands) : nullptr;
  if (entry != nullptr) [[likely]]
    return call_of(*entry);
  return new_site_call(thread, id, kind, kernel, symbol, frame, can_cache ? key : 0);
}

Recorder::SiteCall Recorder::new_site_call(ThreadState& thread, std::uint32_t id, Kind kind, CUfunction kernel,
                                           const char* symbol, std::uintptr_t frame, std::uint64_t key) {
  SiteCache::Entry entry{};
  const std::uint32_t function = kind == Kind::kernel ? function_id(kernel, symbol) : 0;
  if (!enter_site(thread, id, kind, function, frame, entry)) return {};
  entry.key = key;
  // A native stack that is not known now may be another time.
  if (key != 0 && (!wants_native() || entry.addresses != 0)) thread.sites.insert(entry);
  return call_of(entry);
}

Recorder::SiteCall Recorder::call_of(const SiteCache::Entry& entry) {
  const std::uint32_t ordinal = count_at(entry.site), armed_from = entry.armed_from;
  if (armed_from == Window::kNever) [[likely]]
    return {entry.site, ordinal, entry.function, entry.checks_its_data, false};
  if (ordinal + window_.near() >= armed_from) hook_.come_near();
  return {entry.site, ordinal, entry.function, entry.checks_its_data, ordinal >= armed_from};
}

std::uint32_t Recorder::count_at(std::uint32_t at) {
  // A site belongs to one thread at a time: no other writer.
  std::byte* count = area_.region(area::Region::sites) + area::site_place(at, area::kSites) * area::kSiteSize;
  const std::uint64_t operations = wire::load(count, wire::Field<std::uint64_t, 0>{}) + 1;
  wire::store(count, wire::Field<std::uint64_t, 0>{}, operations);
  return static_cast<std::uint32_t>(operations);
}

}  // namespace cudadiag::record
