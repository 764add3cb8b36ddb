// Removes the recorder's wrappers from a running program and restores them, as switched_cupti.cc does with CUPTI's
// callbacks. It is preloaded into a program that cudadiag watches by hooks (lib/record/hooks/redirection.h).
//
// The recorder has changed the addresses in the symbol tables of libcuda and libcudart in memory. The files on disk
// still contain the addresses of the original functions. In the writable parts of the loaded modules, this library
// replaces the address of every wrapper by that of the original function, and later restores it. It leaves addresses on
// the heap alone, because the recorder does not change them there either.
//
// This file must not need a C++ runtime. It is preloaded, so the whole program would share that runtime.
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace {

struct Pair {
  std::uintptr_t wrapper, original;
};
struct Slot {
  std::uintptr_t* word;
  Pair values;
};

// Used by one thread at a time, between the steps of the program.
Pair g_pairs[1024];
Slot g_slots[1 << 15];
std::size_t g_pair_count, g_slot_count;
std::uintptr_t g_recorder;  // the load bias of the recorder's library

bool is_named(const dl_phdr_info& module, const char* name) {
  const char* slash = std::strrchr(module.dlpi_name, '/');
  return std::strncmp(slash == nullptr ? module.dlpi_name : slash + 1, name, std::strlen(name)) == 0;
}

void compare_symbols(const dl_phdr_info& module, const char* file, std::size_t size) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(file);
  const auto* section = reinterpret_cast<const ElfW(Shdr)*>(file + header->e_shoff);
  for (const auto* end = section + header->e_shnum; section != end; ++section) {
    if (section->sh_type != SHT_DYNSYM || section->sh_offset + section->sh_size > size) continue;
    const auto* stored = reinterpret_cast<const ElfW(Sym)*>(file + section->sh_offset);
    const auto* loaded = reinterpret_cast<const ElfW(Sym)*>(module.dlpi_addr + section->sh_addr);
    for (std::size_t i = 0; i < section->sh_size / sizeof *stored && g_pair_count < std::size(g_pairs); ++i) {
      if (stored[i].st_value == loaded[i].st_value) continue;
      g_pairs[g_pair_count++] = {module.dlpi_addr + loaded[i].st_value, module.dlpi_addr + stored[i].st_value};
    }
  }
}

int find_pairs(dl_phdr_info* module, std::size_t, void*) {
  if (is_named(*module, "libcudadiag_record.so")) g_recorder = module->dlpi_addr;
  if (!is_named(*module, "libcuda.so") && !is_named(*module, "libcudart.so")) return 0;
  const int fd = open(module->dlpi_name, O_RDONLY | O_CLOEXEC);
  const off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
  void* file = size <= 0 ? MAP_FAILED : mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, fd, 0);
  if (fd >= 0) close(fd);
  if (file == MAP_FAILED) return 0;
  compare_symbols(*module, static_cast<const char*>(file), static_cast<std::size_t>(size));
  munmap(file, static_cast<std::size_t>(size));
  return 0;
}

const Pair* pair_of(std::uintptr_t wrapper) {
  for (std::size_t i = 0; i < g_pair_count; ++i) {
    if (g_pairs[i].wrapper == wrapper) return &g_pairs[i];
  }
  return nullptr;
}

void make_writable(std::uintptr_t* word) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(word) / page * page;
  if (mprotect(reinterpret_cast<void*>(begin), page, PROT_READ | PROT_WRITE) != 0) std::abort();
}

int find_slots(dl_phdr_info* module, std::size_t, void*) {
  const bool is_own = is_named(*module, "libswitched_hooks.so");
  if (is_own || module->dlpi_addr == g_recorder || is_named(*module, "libcuda.so")) return 0;
  std::uintptr_t lowest = UINTPTR_MAX, highest = 0;
  for (std::size_t i = 0; i < g_pair_count; ++i) {
    lowest = g_pairs[i].wrapper < lowest ? g_pairs[i].wrapper : lowest;
    highest = g_pairs[i].wrapper > highest ? g_pairs[i].wrapper : highest;
  }
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    auto* word = reinterpret_cast<std::uintptr_t*>((module->dlpi_addr + segment.p_vaddr + 7) / 8 * 8);
    const auto* end =
        reinterpret_cast<std::uintptr_t*>((module->dlpi_addr + segment.p_vaddr + segment.p_memsz) / 8 * 8);
    for (; word < end && g_slot_count < std::size(g_slots); ++word) {
      if (*word < lowest || *word > highest) continue;
      const Pair* pair = pair_of(*word);
      if (pair == nullptr) continue;
      make_writable(word);
      g_slots[g_slot_count++] = {word, *pair};
    }
  }
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void switch_callbacks(std::uint32_t on) {
  if (g_slot_count == 0) {
    dl_iterate_phdr(find_pairs, nullptr);
    dl_iterate_phdr(find_slots, nullptr);
    std::fprintf(stderr, "switched_hooks: %zu functions, at %zu addresses\n", g_pair_count, g_slot_count);
    if (g_slot_count == 0) std::abort();
  }
  for (std::size_t i = 0; i < g_slot_count; ++i) {
    const Slot& slot = g_slots[i];
    __atomic_store_n(slot.word, on != 0 ? slot.values.wrapper : slot.values.original, __ATOMIC_RELAXED);
  }
}
