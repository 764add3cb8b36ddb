#include "record/stacks/loaded_library.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "record/stacks/memory_map.h"

namespace cudadiag::record {

bool LoadedLibrary::find(std::string_view file_name, LoadedModule* where) {
  MemoryMap map;
  MemoryRange range;
  while (map.next(range)) {
    const char* slash = strrchr(range.path, '/');
    if (range.file_offset != 0 || slash == nullptr || file_name != slash + 1) continue;
    LoadedModule module;
    if (!Modules::knows_what_is_ready() || !Modules::find(range.begin, module)) return false;
    if (where != nullptr) *where = module;
    return read(module);
  }
  return false;
}

bool LoadedLibrary::read(const LoadedModule& module) {
  bias_ = module.bias;
  const ElfW(Dyn)* entry = nullptr;
  for (const auto& segment : Modules::program_headers(module.begin)) {
    if (segment.p_type == PT_DYNAMIC) entry = reinterpret_cast<const ElfW(Dyn)*>(bias_ + segment.p_vaddr);
  }
  // On most architectures, the loader makes these addresses absolute. On others, it leaves them relative.
  const auto place = [&](const ElfW(Dyn) & dynamic) {
    return dynamic.d_un.d_ptr < bias_ ? bias_ + dynamic.d_un.d_ptr : dynamic.d_un.d_ptr;
  };
  const ElfW(Rela) * tables[2] = {};
  std::size_t sizes[2] = {};
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_RELA) tables[0] = reinterpret_cast<const ElfW(Rela)*>(place(*entry));
    if (entry->d_tag == DT_RELASZ) sizes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_JMPREL) tables[1] = reinterpret_cast<const ElfW(Rela)*>(place(*entry));
    if (entry->d_tag == DT_PLTRELSZ) sizes[1] = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const std::byte*>(place(*entry));
    if (entry->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(place(*entry));
    if (entry->d_tag == DT_GNU_HASH) hash_ = reinterpret_cast<const std::uint32_t*>(place(*entry));
  }
  for (int i = 0; i < 2; ++i) {
    if (tables[i] != nullptr) relocations_[i] = {tables[i], sizes[i] / sizeof *tables[i]};
  }
  return symbols_ != nullptr && names_ != nullptr && hash_ != nullptr;
}

// DT_GNU_HASH begins with: number of buckets, index of the first symbol, number of words of the Bloom filter, shift.
// Then come the filter, the buckets, and one hash per symbol. If a hash's lowest bit is set, it is the last of its
// chain.
const ElfW(Sym) * LoadedLibrary::symbol(std::string_view name) const {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  const std::uint32_t buckets = hash_[0], first = hash_[1], bloom_words = hash_[2];
  if (buckets == 0) return nullptr;
  const std::uint32_t* bucket = hash_ + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof *hash_);
  const std::uint32_t* chain = bucket + buckets;
  for (std::uint32_t at = bucket[hash % buckets]; at >= first && at != 0; ++at) {
    if (((chain[at - first] ^ hash) & ~1u) == 0) {
      const auto* symbol = reinterpret_cast<const ElfW(Sym)*>(symbols_) + at;
      if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
          name == names_ + symbol->st_name)
        return symbol;
    }
    if ((chain[at - first] & 1) != 0) return nullptr;
  }
  return nullptr;
}

std::span<const std::byte> LoadedLibrary::code(std::string_view name) const {
  const ElfW(Sym)* found = symbol(name);
  if (found == nullptr) return {};
  return {reinterpret_cast<const std::byte*>(bias_ + found->st_value), found->st_size};
}

}  // namespace cudadiag::record
