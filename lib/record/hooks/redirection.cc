#include "record/hooks/redirection.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <span>

#include "record/hooks/wrapper.h"
#include "record/libc_substitutes.h"
#include "record/stacks/symbols.h"
#include "wire/name_patterns.h"

namespace cudadiag::record {

namespace {

constexpr std::size_t kMostEntryPoints = 1024;

struct Redirected {
  std::uintptr_t from, to;
};
// Sorted by address once the redirection is done.
struct Table {
  std::array<Redirected, kMostEntryPoints> entries;
  std::size_t count;

  std::span<Redirected> all() { return std::span(entries).first(count); }
  void sort() {
    std::sort(all().begin(), all().end(), [](const Redirected& a, const Redirected& b) { return a.from < b.from; });
  }
  std::uintptr_t other_of(std::uintptr_t address) const {
    const auto end = entries.begin() + static_cast<std::ptrdiff_t>(count);
    const auto found = std::lower_bound(entries.begin(), end, address,
                                        [](const Redirected& each, std::uintptr_t at) { return each.from < at; });
    return found != end && found->from == address ? found->to : address;
  }
};
Table g_by_original, g_by_wrapper;  // of the driver

int protection_of(const ElfW(Phdr) & segment) {
  return ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) | ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
         ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
}

// Makes pages writable while in scope.
class Writable {
 public:
  Writable(std::uintptr_t begin, std::uintptr_t end, int protection) : protection_(protection) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    begin_ = begin / page * page;
    size_ = (end + page - 1) / page * page - begin_;
    ok_ = (protection & PROT_WRITE) != 0 || protect(protection | PROT_WRITE);
  }
  ~Writable() {
    if (ok_ && (protection_ & PROT_WRITE) == 0) protect(protection_);
  }
  Writable(const Writable&) = delete;
  Writable& operator=(const Writable&) = delete;
  explicit operator bool() const { return ok_; }

 private:
  bool protect(int protection) const { return mprotect(reinterpret_cast<void*>(begin_), size_, protection) == 0; }

  std::uintptr_t begin_ = 0;
  std::size_t size_ = 0;
  int protection_;
  bool ok_ = false;
};

bool find_driver(LoadedModule& module) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  // dlsym may return a wrapper, which original_of() maps to the original function.
  void* inside = library == nullptr ? nullptr : original_of(dlsym(library, "cuInit"));
  if (library != nullptr) dlclose(library);
  return inside != nullptr && Modules::find(reinterpret_cast<std::uintptr_t>(inside), module);
}

// Returns the protection that the page at this address has after the dynamic linker has relocated the module.
int protection_at(std::span<const ElfW(Phdr)> segments, std::uintptr_t bias, std::uintptr_t address) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  int protection = PROT_READ;
  for (const auto& segment : segments) {
    const std::uintptr_t begin = bias + segment.p_vaddr, end = begin + segment.p_memsz;
    if (segment.p_type == PT_LOAD && address >= begin && address < end) protection = protection_of(segment);
  }
  for (const auto& segment : segments) {
    const std::uintptr_t begin = bias + segment.p_vaddr, end = begin + segment.p_memsz;
    const bool inside = address >= begin / page * page && address < end / page * page;
    if (segment.p_type == PT_GNU_RELRO && inside) protection &= ~PROT_WRITE;
  }
  return protection;
}

// ---- the driver's symbols

// Fills `by_original`, and then changes the symbols.
bool redirect_symbols(const LoadedModule& module, std::span<const EntryPoint> entry_points, Table& by_original) {
  LoadedLibrary library;
  if (!library.read(module)) return false;
  struct Found {
    std::array<ElfW(Sym)*, kMostEntryPoints> symbols;
  };
  const Scratch<Found> found;
  if (!found) return false;
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  const auto all = entry_points.first(std::min(entry_points.size(), kMostEntryPoints));
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto* symbol = const_cast<ElfW(Sym)*>(library.symbol(all[i].name));
    if (symbol == nullptr) continue;
    const std::uintptr_t original = module.bias + symbol->st_value;
    // Two names may share one function. Only the first name gets a wrapper.
    const auto known = by_original.all();
    if (std::any_of(known.begin(), known.end(), [&](const Redirected& each) { return each.from == original; }))
      continue;
    __atomic_store_n(all[i].original, reinterpret_cast<void*>(original), __ATOMIC_RELEASE);
    by_original.entries[by_original.count++] = {original, reinterpret_cast<std::uintptr_t>(all[i].wrapper)};
    found->symbols[i] = symbol;
    begin = std::min(begin, reinterpret_cast<std::uintptr_t>(symbol));
    end = std::max(end, reinterpret_cast<std::uintptr_t>(symbol + 1));
  }
  if (by_original.count == 0) return false;
  by_original.sort();
  const Writable pages(begin, end, protection_at(Modules::program_headers(module.begin), module.bias, begin));
  if (!pages) return false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (found->symbols[i] == nullptr) continue;
    const std::uintptr_t value = reinterpret_cast<std::uintptr_t>(all[i].wrapper) - module.bias;
    __atomic_store_n(&found->symbols[i]->st_value, value, __ATOMIC_RELEASE);
  }
  return true;
}

// ---- addresses that were looked up earlier

// Finds out which pages have been written to since they were mapped. Only these can contain addresses that were looked
// up at run time.
class WrittenPages {
 public:
  WrittenPages() : page_(static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE))) {
    fd_ = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  }
  ~WrittenPages() {
    if (fd_ >= 0) close(fd_);
  }
  WrittenPages(const WrittenPages&) = delete;
  WrittenPages& operator=(const WrittenPages&) = delete;

  std::uintptr_t page() const { return page_; }
  // Returns false only if the page has certainly not been written to.
  bool may_be_written(std::uintptr_t address) {
    constexpr std::uint64_t kPresent = 1ull << 63, kSwapped = 1ull << 62, kOfFile = 1ull << 61;
    if (fd_ < 0) return true;
    const std::uint64_t number = address / page_;
    if (number < first_ || number >= first_ + count_) {
      const ssize_t size =
          pread(fd_, entries_.data(), sizeof entries_, static_cast<off_t>(number * sizeof entries_[0]));
      if (size < static_cast<ssize_t>(sizeof entries_[0])) return true;
      first_ = number;
      count_ = static_cast<std::uint64_t>(size) / sizeof entries_[0];
    }
    const std::uint64_t entry = entries_[number - first_];
    return (entry & kSwapped) != 0 || ((entry & kPresent) != 0 && (entry & kOfFile) == 0);
  }

 private:
  std::uintptr_t page_;
  int fd_;
  std::uint64_t first_ = 0, count_ = 0;
  std::array<std::uint64_t, 256> entries_{};
};

struct Rewriting {
  std::uintptr_t library, own;  // load biases of the redirected library and of the recorder
  const Table& by_original;
  WrittenPages pages;
  std::size_t replaced = 0;
};

void rewrite_page(const dl_phdr_info& info, std::uintptr_t begin, std::uintptr_t end, Rewriting& work) {
  const std::uintptr_t lowest = work.by_original.entries[0].from,
                       highest = work.by_original.entries[work.by_original.count - 1].from;
  for (std::uintptr_t at = begin; at + sizeof(std::uintptr_t) <= end; at += sizeof(std::uintptr_t)) {
    auto* word = reinterpret_cast<std::uintptr_t*>(at);
    const std::uintptr_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (value < lowest || value > highest) continue;
    const std::uintptr_t wrapper = work.by_original.other_of(value);
    if (wrapper == value) continue;
    const std::span segments(info.dlpi_phdr, info.dlpi_phnum);
    const Writable writable(at, at + sizeof value, protection_at(segments, info.dlpi_addr, at));
    if (!writable) continue;
    __atomic_store_n(word, wrapper, __ATOMIC_RELEASE);
    ++work.replaced;
  }
}

int rewrite_module(dl_phdr_info* info, std::size_t, void* data) {
  auto& work = *static_cast<Rewriting*>(data);
  if (info->dlpi_addr == work.library || info->dlpi_addr == work.own) return 0;
  for (const auto& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    const std::uintptr_t begin = (info->dlpi_addr + segment.p_vaddr + 7) / 8 * 8;
    const std::uintptr_t end = info->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    for (std::uintptr_t at = begin; at < end;) {
      const std::uintptr_t next = std::min(end, (at / work.pages.page() + 1) * work.pages.page());
      if (work.pages.may_be_written(at)) rewrite_page(*info, at, next, work);
      at = next;
    }
  }
  return 0;
}

std::size_t rewrite_handed_out(const LoadedModule& library, const Table& by_original) {
  LoadedModule own;
  if (!Modules::find(reinterpret_cast<std::uintptr_t>(&rewrite_module), own)) return 0;
  Rewriting work{library.bias, own.bias, by_original, {}};
  dl_iterate_phdr(rewrite_module, &work);
  return work.replaced;
}

// ---- runtimes

constexpr std::size_t kMostSeen = 16;

struct SharedRuntime {
  std::uintptr_t address;  // inside the library
  char path[PATH_MAX];     // copied, because another thread may close the library
};
struct SharedRuntimes {
  std::array<SharedRuntime, kMostSeen> all;
  std::size_t count;
};

int add_runtime(dl_phdr_info* info, std::size_t, void* data) {
  auto& found = *static_cast<SharedRuntimes*>(data);
  const char* path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (!is_known_runtime(runtime_version(path)) || found.count == found.all.size()) return 0;
  SharedRuntime& runtime = found.all[found.count++];
  runtime.address = reinterpret_cast<std::uintptr_t>(info->dlpi_phdr);
  strncpy(runtime.path, path, sizeof runtime.path - 1);
  return 0;
}

std::array<std::uintptr_t, kMostSeen> g_seen;  // start addresses of the runtimes that were redirected or left out
std::size_t g_sets;                            // number of sets of wrappers in use
std::atomic_flag g_redirecting;

bool redirect_runtime(const LoadedModule& module) {
  const Scratch<Table> table;
  if (!table || g_sets == kMostRuntimes) return false;
  if (!redirect_symbols(module, runtime_entry_points(g_sets), *table)) return false;
  ++g_sets;
  rewrite_handed_out(module, *table);
  return true;
}

}  // namespace

Redirection redirect_driver() {
  const Uncancelled uncancelled;
  Modules::start();
  Redirection done;
  LoadedModule driver;
  if (!find_driver(driver)) return done;
  done.outcome = Redirection::Outcome::refused;
  if (!redirect_symbols(driver, driver_entry_points(), g_by_original)) return done;
  for (const Redirected& each : g_by_original.all()) g_by_wrapper.entries[g_by_wrapper.count++] = {each.to, each.from};
  g_by_wrapper.sort();
  done.outcome = Redirection::Outcome::done;
  done.symbols = g_by_original.count;
  done.replaced = rewrite_handed_out(driver, g_by_original);
  return done;
}

// Another thread may call this at the same time, for another runtime. Waiting for it could block forever, because that
// thread may wait for the dynamic loader.
void redirect_runtimes(bool (*left_out)(const char* path, void* data), void* data) {
  if (g_redirecting.test_and_set(std::memory_order_acquire)) return;
  const Uncancelled uncancelled;
  const Scratch<SharedRuntimes> found;
  if (found) dl_iterate_phdr(add_runtime, &*found);
  for (std::size_t i = 0; found && i < found->count; ++i) {
    const SharedRuntime& runtime = found->all[i];
    LoadedModule module;
    if (!Modules::find(runtime.address, module)) continue;
    const auto known = std::find(g_seen.begin(), g_seen.end(), module.begin);
    const auto free = std::find(g_seen.begin(), g_seen.end(), std::uintptr_t{0});
    if (known != g_seen.end() || free == g_seen.end()) continue;
    *free = module.begin;
    if (!redirect_runtime(module)) left_out(runtime.path, data);
  }
  g_redirecting.clear(std::memory_order_release);
}

int runtime_version(std::string_view path) {
  const std::string_view name = wire::library_paths::base_name(path);
  const std::size_t version = name.find(".so.");
  return name.starts_with("libcudart") && version != name.npos
             ? static_cast<int>(leading_number(wire::library_paths::part(name, version + 4)))
             : 0;
}

void* original_of(void* function) {
  for (std::size_t set = 0; set < kMostRuntimes; ++set) {
    for (const EntryPoint& entry : runtime_entry_points(set)) {
      if (entry.wrapper == function) return *entry.original;
    }
  }
  return reinterpret_cast<void*>(g_by_wrapper.other_of(reinterpret_cast<std::uintptr_t>(function)));
}

void* wrapper_of(void* function) {
  return reinterpret_cast<void*>(g_by_original.other_of(reinterpret_cast<std::uintptr_t>(function)));
}

bool redirect_calls(const LoadedModule& module, const char* name, void* function) {
  LoadedLibrary library;
  if (!library.read(module)) return false;
  bool found = false;
  library.each_slot(name, [&](std::uintptr_t* slot) {
    const auto at = reinterpret_cast<std::uintptr_t>(slot);
    const Writable writable(at, at + sizeof *slot,
                            protection_at(Modules::program_headers(module.begin), module.bias, at));
    if (!writable) return;
    __atomic_store_n(slot, reinterpret_cast<std::uintptr_t>(function), __ATOMIC_RELEASE);
    found = true;
  });
  return found;
}

bool redirect_abort(void (*function)()) {
  LoadedModule driver;
  return find_driver(driver) && redirect_calls(driver, "abort", reinterpret_cast<void*>(function));
}

}  // namespace cudadiag::record
