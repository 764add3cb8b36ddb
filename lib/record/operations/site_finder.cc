#include "record/operations/site_finder.h"

#include <cupti.h>

#include <bit>

#include "record/stacks/unwinder.h"
#include "record/this_thread.h"
#include "wire/hash.h"

namespace cudadiag::record {

using wire::kHashSeed;
using wire::mix;

namespace area = wire::area;
using wire::operation::Kind;

namespace {

// A key of KernelIds::known_ that needs no symbol.
std::uint64_t key_of(const void* kernel) { return wire::mix(wire::kHashSeed, reinterpret_cast<std::uint64_t>(kernel)); }

}  // namespace

void SiteFinder::attach(AreaMap& map, Interner& interner, KernelIds& kernels, const Window& window, PythonHook& hook) {
  area_ = &map;
  counts_ = map.region(area::Region::sites);
  interner_ = &interner;
  kernels_ = &kernels;
  window_ = &window;
  hook_ = &hook;
}

void SiteFinder::start(Stacks wanted) {
  wanted_ = wanted;
  seeks_python_ = wanted.python;
  native_.start(*interner_, unloads_);
}

void SiteFinder::adopt(const SiteFinder& parent) {
  wanted_ = {parent.wanted_.python, parent.wanted_.native, false};
  native_.attach(*interner_, unloads_);
  const bool has_python = parent.has_python_.load(std::memory_order_acquire);
  if (has_python) python_.adopt(parent.python_, *interner_, *hook_);
  if (has_python && wanted_.native) native_.stop_at(python_.interpreter(), python_.interpreter() + 1);
  has_python_.store(has_python, std::memory_order_release);
}

void SiteFinder::thread_started(ThreadState& thread, std::uintptr_t frame) const {
  if (wanted_.native) change_stack(thread, frame);
}

void SiteFinder::seek_python() {
  if (!seeks_python_.exchange(false)) return;
  const bool found = python_.start(*interner_, *hook_);
  if (found && wanted_.native) native_.stop_at(python_.interpreter(), python_.interpreter() + 1);
  has_python_.store(found, std::memory_order_release);
}

SiteFinder::Place SiteFinder::place(ThreadState& thread, std::uint32_t id, Kind kind, std::uint32_t function,
                                    std::uintptr_t frame) {
  if (seeks_python_.load(std::memory_order_relaxed)) seek_python();
  const std::uint32_t python = has_python_.load(std::memory_order_acquire) ? python_.current() : 0;
  if (python != 0) wire::store(thread.entry, wire::thread::kPythonState, python_.thread_state());
  const std::uint64_t salt = std::uint64_t{id} << 32 | function;
  NativeStacks::Recognition recognition{};
  // Checks for closed libraries only in a process without Python, because Python never closes the libraries that it
  // opens.
  const bool closes = !has_python_.load(std::memory_order_relaxed);
  const std::uint32_t native =
      wants_native() ? native_.current(thread, frame, salt, python != 0, closes, recognition) : 0;
  const std::uint64_t stacks = mix(mix(kHashSeed, std::uint64_t{python} << 32 | native), salt);
  const std::uint64_t key = mix(stacks, std::uint64_t{thread.index} << 8 | static_cast<std::uint64_t>(kind)) | 1;
  return {python, native, key, recognition};
}

std::uint32_t SiteFinder::site_of_traceback(const ThreadState& thread, std::span<const TracedFrame> frames) {
  if (seeks_python_.load(std::memory_order_relaxed)) seek_python();
  const std::uint32_t python = has_python_.load(std::memory_order_acquire) ? python_.of_traceback(frames) : 0;
  if (python == 0) return 0;
  const std::uint64_t key = wire::mix_all(std::uint64_t{python}, std::uint64_t{thread.index}) | 1;
  return site_at(thread, {python, 0, key, {}}, Kind::none, 0);
}

std::uint32_t SiteFinder::site_of_launch(ThreadState& thread, std::uint32_t id, CUfunction kernel, const char* symbol,
                                         std::uintptr_t frame) {
  const std::uint32_t function = kernels_->id_of(kernel, symbol, unloads_.load(std::memory_order_relaxed));
  return site_at(thread, place(thread, id, Kind::none, function, frame), Kind::none, function);
}

// Omits the native stack inside the Python hook, because it would contain the hook's own Python code.
bool SiteFinder::wants_native() const { return wanted_.native && !(wanted_.hook && t_this.hooked); }

SiteCall SiteFinder::enter(ThreadState& thread, std::uint32_t id, Kind kind, CUfunction kernel, const char* symbol,
                           std::uintptr_t frame) {
  if (seeks_python_.load(std::memory_order_relaxed)) [[unlikely]]
    seek_python();
  const bool native = wants_native();
  std::uint64_t python = 0;
  const bool can_cache = !has_python_.load(std::memory_order_acquire) || python_.fingerprint(python);
  if (kind != Kind::kernel) kernel = nullptr, symbol = nullptr;
  const std::uint64_t key =
      wire::sum_of(unloads_.load(std::memory_order_relaxed), reinterpret_cast<std::uint64_t>(kernel),
                   reinterpret_cast<std::uint64_t>(symbol), python, native ? frame : 0,
                   std::uint64_t{id} << 8 | static_cast<std::uint64_t>(kind)) |
      1;
  const auto still_matches = [&](const SiteCache::Entry& entry) {
    return !native || native_.still_matches(entry, thread, frame);
  };
  const SiteCache::Entry* entry = can_cache ? thread.sites.find(key, still_matches) : nullptr;
  if (entry != nullptr) [[likely]]
    return count(*entry);
  return enter_new(thread, {id, kind, kernel, symbol, frame}, can_cache ? key : 0);
}

SiteCall SiteFinder::enter_new(ThreadState& thread, IssuedCall call, std::uint64_t key) {
  SiteCache::Entry entry{};
  if (!describe(thread, call, entry)) return {};
  entry.key = key;
  // Does not cache the result if the native stack is unknown, because a later call may find it.
  if (key != 0 && (!wants_native() || entry.addresses != 0)) thread.sites.insert(entry);
  return count(entry);
}

bool SiteFinder::describe(ThreadState& thread, const IssuedCall& call, SiteCache::Entry& entry) {
  const std::uint32_t function =
      call.kind == Kind::kernel ? kernels_->id_of(call.kernel, call.symbol, unloads_.load(std::memory_order_relaxed))
                                : 0;
  const Place at = place(thread, call.id, call.kind, function, call.frame);
  const std::uint32_t found = site_at(thread, at, call.kind, function);
  if (found == 0 || found >= area::kSites) {
    area_->count(area::kDroppedSites);
    return false;
  }
  const auto key = interner_->site_key(call.kind, at.python, at.native, function);
  if (const StackShape* shape = at.recognition.shape) {
    entry.shape = static_cast<std::uint16_t>(shape - thread.shapes.shapes.data());
    entry.shape_key = static_cast<std::uint32_t>(shape->key);
    entry.addresses = at.recognition.addresses;
    entry.opened = at.recognition.opened;
  }
  entry.site = static_cast<std::uint16_t>(found);
  entry.armed_from = window_->empty() ? Window::kNever : window_->armed_from(key, interner_->function_key(function));
  // A site may launch different graphs. If nodes are to be saved, the recorder must check the graph at each launch.
  if (call.kind == Kind::graph && entry.armed_from == Window::kNever) entry.armed_from = window_->nodes_from();
  entry.function = static_cast<std::uint16_t>(function <= 0xffff ? function : 0);
  entry.checks_its_data = interner_->checks_its_data(function);
  return true;
}

SiteCall SiteFinder::count(const SiteCache::Entry& entry) {
  const std::uint32_t ordinal = count_at(entry.site), armed_from = entry.armed_from;
  if (armed_from == Window::kNever) [[likely]]
    return {entry.site, ordinal, entry.function, entry.checks_its_data, false};
  if (ordinal + window_->near() >= armed_from) hook_->come_near();
  return {entry.site, ordinal, entry.function, entry.checks_its_data, ordinal >= armed_from};
}

std::uint32_t SiteFinder::count_at(std::uint32_t at) {
  // Needs no atomic increment: a site belongs to one thread at a time.
  constexpr auto place = [](std::uint16_t site) -> std::size_t { return std::rotl(site, 4); };
  static_assert(place(0x1234) == area::site_place(0x1234, area::kSites));
  std::byte* count = counts_ + place(static_cast<std::uint16_t>(at)) * area::kSiteSize;
  const std::uint64_t operations = wire::load(count, wire::Field<std::uint64_t, 0>{}) + 1;
  wire::store(count, wire::Field<std::uint64_t, 0>{}, operations);
  return static_cast<std::uint32_t>(operations);
}

void KernelIds::attach(Interner& interner, const DriverApi& driver, const CallbackSource& source) {
  interner_ = &interner;
  driver_ = &driver;
  source_ = &source;
}

// CUPTI passes the symbol to the callback. With hooks, the driver must be queried. Tries both queries, because the
// program may have passed a CUkernel as a CUfunction.
const char* KernelIds::symbol_of(CUfunction kernel) const {
  const char* symbol = nullptr;
  if (kernel == nullptr || !source_->by_hooks()) return nullptr;
  const RelaxedCapture relaxed(*driver_);
  if (driver_->func_get_name != nullptr && driver_->func_get_name(&symbol, kernel) == CUDA_SUCCESS) return symbol;
  if (driver_->kernel_get_name != nullptr &&
      driver_->kernel_get_name(&symbol, reinterpret_cast<CUkernel>(kernel)) == CUDA_SUCCESS) {
    return symbol;
  }
  return nullptr;
}

// Drivers before CUDA 12.3 do not tell the name of a kernel, so the recorder keeps the name by which the program looked
// it up.
void KernelIds::looked_up(std::uint32_t id, const void* parameters) {
  if (!source_->by_hooks() || driver_->func_get_name != nullptr) return;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction: {
      const auto& call = *static_cast<const cuModuleGetFunction_params*>(parameters);
      if (call.hfunc != nullptr && call.name != nullptr) learn(*call.hfunc, interner_->function(call.name));
      return;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel: {
      const auto& call = *static_cast<const cuLibraryGetKernel_params*>(parameters);
      if (call.pKernel != nullptr && call.name != nullptr) learn(*call.pKernel, interner_->function(call.name));
      return;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction: {
      const auto& call = *static_cast<const cuKernelGetFunction_params*>(parameters);
      if (call.pFunc != nullptr) learn(*call.pFunc, known_.find(key_of(call.kernel)));
      return;
    }
    default:
      return;
  }
}

void KernelIds::learn(const void* kernel, std::uint32_t id) {
  const LockGuard lock(mutex_);
  if (id != 0) known_.insert(key_of(kernel), id);
}

std::uint32_t KernelIds::id_of(CUfunction kernel, const char* symbol, std::uint64_t unloads) {
  if (symbol == nullptr) symbol = symbol_of(kernel);
  if (symbol == nullptr) return kernel == nullptr ? 0 : known_.find(key_of(kernel));
  const std::uint64_t key =
      wire::mix(wire::mix(wire::mix(wire::kHashSeed, unloads), reinterpret_cast<std::uint64_t>(kernel)),
                reinterpret_cast<std::uint64_t>(symbol));
  if (const std::uint32_t id = known_.find(key)) return id;
  const std::uint32_t id = interner_->function(symbol);
  const LockGuard lock(mutex_);
  if (known_.find(key) == 0) known_.insert(key, id);
  return id;
}

}  // namespace cudadiag::record
