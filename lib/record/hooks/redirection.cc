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
#include <span>

#include "record/guest.h"
#include "record/hooks/wrapper.h"
#include "record/stacks/symbols.h"

namespace cudadiag::record {

namespace {

constexpr std::size_t kMostEntryPoints = 1024;

struct Redirected {
  std::uintptr_t from, to;
};
// Sorted by address once the redirection is done.
std::array<Redirected, kMostEntryPoints> g_by_original, g_by_wrapper;
std::size_t g_count;

std::uintptr_t other_of(const std::array<Redirected, kMostEntryPoints>& table, std::uintptr_t address) {
  const auto end = table.begin() + static_cast<std::ptrdiff_t>(g_count);
  const auto found = std::lower_bound(table.begin(), end, address,
                                      [](const Redirected& each, std::uintptr_t at) { return each.from < at; });
  return found != end && found->from == address ? found->to : address;
}

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

// Finds a libcudart.so of a version whose function types are known.
bool find_runtime(LoadedModule& module) {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;
    void* inside = dlsym(library, "cudaMalloc");
    dlclose(library);
    return inside != nullptr && Modules::find(reinterpret_cast<std::uintptr_t>(inside), module);
  }
  return false;
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

bool redirect_symbols(const LoadedModule& module, std::span<const EntryPoint> all) {
  LoadedLibrary library;
  if (!library.read(module)) return false;
  struct Found {
    std::array<ElfW(Sym)*, kMostEntryPoints> symbols;
  };
  const Scratch<Found> found;
  if (!found) return false;
  const std::size_t before = g_count;
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (std::size_t i = 0; i < all.size() && g_count < kMostEntryPoints; ++i) {
    auto* symbol = const_cast<ElfW(Sym)*>(library.symbol(all[i].name));
    if (symbol == nullptr) continue;
    const std::uintptr_t original = module.bias + symbol->st_value;
    // Two names may share one function. Only the first name gets a wrapper.
    const auto known = g_by_original.begin() + static_cast<std::ptrdiff_t>(g_count);
    if (std::any_of(g_by_original.begin(), known, [&](const Redirected& each) { return each.from == original; }))
      continue;
    __atomic_store_n(all[i].original, reinterpret_cast<void*>(original), __ATOMIC_RELEASE);
    const auto wrapper = reinterpret_cast<std::uintptr_t>(all[i].wrapper);
    g_by_original[g_count] = {original, wrapper};
    g_by_wrapper[g_count++] = {wrapper, original};
    found->symbols[i] = symbol;
    begin = std::min(begin, reinterpret_cast<std::uintptr_t>(symbol));
    end = std::max(end, reinterpret_cast<std::uintptr_t>(symbol + 1));
  }
  if (g_count == before) return false;
  const auto by_address = [](const Redirected& a, const Redirected& b) { return a.from < b.from; };
  std::sort(g_by_original.begin(), g_by_original.begin() + static_cast<std::ptrdiff_t>(g_count), by_address);
  std::sort(g_by_wrapper.begin(), g_by_wrapper.begin() + static_cast<std::ptrdiff_t>(g_count), by_address);
  const Writable pages(begin, end, protection_at(Modules::program_headers(module.begin), module.bias, begin));
  if (!pages) return false;
  for (std::size_t i = 0; i < all.size() && i < kMostEntryPoints; ++i) {
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
  std::uintptr_t lowest, highest;
  WrittenPages pages;
  std::size_t replaced = 0;
};

void rewrite_page(const dl_phdr_info& info, std::uintptr_t begin, std::uintptr_t end, Rewriting& work) {
  for (std::uintptr_t at = begin; at + sizeof(std::uintptr_t) <= end; at += sizeof(std::uintptr_t)) {
    auto* word = reinterpret_cast<std::uintptr_t*>(at);
    const std::uintptr_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (value < work.lowest || value > work.highest) continue;
    const std::uintptr_t wrapper = other_of(g_by_original, value);
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

std::size_t rewrite_handed_out(const LoadedModule& library) {
  LoadedModule own;
  if (!Modules::find(reinterpret_cast<std::uintptr_t>(&rewrite_module), own)) return 0;
  Rewriting work{library.bias, own.bias, g_by_original[0].from, g_by_original[g_count - 1].from, {}};
  dl_iterate_phdr(rewrite_module, &work);
  return work.replaced;
}

}  // namespace

Redirection redirect_driver() {
  const Uncancelled uncancelled;
  Modules::start();
  Redirection done;
  LoadedModule driver;
  if (!find_driver(driver)) return done;
  done.outcome = Redirection::Outcome::refused;
  if (!redirect_symbols(driver, driver_entry_points())) return done;
  done.outcome = Redirection::Outcome::done;
  done.symbols = g_count;
  done.replaced = rewrite_handed_out(driver);
  return done;
}

void redirect_runtime() {
  const Uncancelled uncancelled;
  LoadedModule runtime;
  if (find_runtime(runtime) && redirect_symbols(runtime, runtime_entry_points())) rewrite_handed_out(runtime);
}

void* original_of(void* function) {
  return reinterpret_cast<void*>(other_of(g_by_wrapper, reinterpret_cast<std::uintptr_t>(function)));
}

void* wrapper_of(void* function) {
  return reinterpret_cast<void*>(other_of(g_by_original, reinterpret_cast<std::uintptr_t>(function)));
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
