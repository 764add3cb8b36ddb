#include "record/stacks/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "record/libc_substitutes.h"

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

namespace {

constexpr std::uint64_t kMost = std::uint64_t{64} << 20;  // limit for the size of a table
constexpr std::size_t kLongest = 64;                      // limit for the length of a name
constexpr std::size_t kPiece = std::size_t{64} << 10;

class ElfFile {
 public:
  explicit ElfFile(const char* file) : fd_(open(file, O_RDONLY | O_CLOEXEC)) {}
  ~ElfFile() {
    if (fd_ >= 0) close(fd_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  // Returns false if the symbol table or its string table is missing or unusable.
  bool find_tables() {
    Elf64_Ehdr header;
    if (!read_header(header)) return false;
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
      if (!read(symbols_, header.e_shoff + i * sizeof symbols_)) return false;
      if (symbols_.sh_type != SHT_SYMTAB) continue;
      return read(names_, header.e_shoff + symbols_.sh_link * sizeof names_) && symbols_.sh_size <= kMost &&
             names_.sh_size <= kMost;
    }
    return false;
  }

  bool has_text(const char* section_name, std::string_view text) const {
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    if (!read_header(header) || !read(names, header.e_shoff + header.e_shstrndx * sizeof names)) return false;
    bool found = false;
    for (std::uint64_t i = 0; i < header.e_shnum && read(section, header.e_shoff + i * sizeof section); ++i) {
      char name[sizeof ".rodata"] = {};
      if (!read(name, names.sh_offset + section.sh_name) || strcmp(name, section_name) != 0) continue;
      section.sh_size = std::min(section.sh_size, kMost);
      for_each_piece(section, kLongest, [&](std::uint64_t, std::span<const char> piece) {
        found = found || memmem(piece.data(), piece.size(), text.data(), text.size()) != nullptr;
      });
    }
    return found;
  }

  // Calls `each` with the index of a function and the offset of its name in the string table. Also calls `each` for
  // longer names that end with the function's name.
  template <typename Each>
  bool find_names(std::span<const NamedFunction> functions, Each each) const {
    return for_each_piece(names_, kLongest, [&](std::uint64_t at, std::span<const char> piece) {
      for (std::size_t i = 0; i < functions.size(); ++i) {
        const std::size_t length = strlen(functions[i].name) + 1;  // including the NUL
        const char* end = piece.data() + piece.size();
        for (const char* from = piece.data();; ++from) {
          from =
              static_cast<const char*>(memmem(from, static_cast<std::size_t>(end - from), functions[i].name, length));
          if (from == nullptr) break;
          each(i, at + static_cast<std::uint64_t>(from - piece.data()));
        }
      }
    });
  }

  template <typename Each>
  bool for_each_symbol(Each each) const {
    return for_each_piece(symbols_, 0, [&](std::uint64_t, std::span<const char> piece) {
      for (; piece.size() >= sizeof(Elf64_Sym); piece = piece.subspan(sizeof(Elf64_Sym))) {
        Elf64_Sym symbol;
        memcpy(&symbol, piece.data(), sizeof symbol);
        each(symbol);
      }
    });
  }

 private:
  bool read_header(Elf64_Ehdr& header) const {
    return piece_ && read(header, 0) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_shentsize == sizeof(Elf64_Shdr);
  }
  template <typename T>
  bool read(T& object, std::uint64_t at) const {
    return pread(fd_, &object, sizeof object, static_cast<off_t>(at)) == static_cast<ssize_t>(sizeof object);
  }

  // Each piece begins with the last `again` bytes of the previous one. Returns false if a piece could not be read.
  template <typename Each>
  bool for_each_piece(const Elf64_Shdr& section, std::size_t again, Each each) const {
    constexpr std::size_t kWhole = kPiece / sizeof(Elf64_Sym) * sizeof(Elf64_Sym);
    for (std::uint64_t at = 0; at < section.sh_size; at += kWhole - again) {
      const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kWhole, section.sh_size - at));
      const ssize_t got = pread(fd_, piece_->data(), wanted, static_cast<off_t>(section.sh_offset + at));
      if (got != static_cast<ssize_t>(wanted)) return false;
      each(at, {piece_->data(), wanted});
      if (at + wanted == section.sh_size) break;
    }
    return true;
  }

  Uncancelled uncancelled_;
  int fd_;
  Elf64_Shdr symbols_{}, names_{};
  Scratch<std::array<char, kPiece>> piece_;
};

}  // namespace

bool find_in_executable(std::span<NamedFunction> functions) {
  struct Place {
    std::uint64_t name;
    std::size_t which;
  };
  std::array<Place, 32> places;
  std::size_t count = 0;
  bool fits = true;
  ElfFile executable("/proc/self/exe");
  if (!executable.find_tables()) return true;
  const bool read = executable.find_names(functions, [&](std::size_t which, std::uint64_t at) {
    const auto known = std::span(places).first(count);
    const auto is_it = [&](const Place& place) { return place.name == at && place.which == which; };
    if (std::any_of(known.begin(), known.end(), is_it)) return;  // found twice, because pieces overlap
    fits = fits && count < places.size();
    if (fits) places[count++] = {at, which};
  });
  if (!read || !fits || count == 0) return read && fits;
  return executable.for_each_symbol([&](const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) return;
    for (const Place& place : std::span(places).first(count)) {
      if (place.name != symbol.st_name) continue;
      NamedFunction& function = functions[place.which];
      function.code = {symbol.st_value, symbol.st_value + symbol.st_size};
      ++function.times;
    }
  });
}

bool has_text(const char* file, const char* section, std::string_view text) {
  return ElfFile(file).has_text(section, text);
}

}  // namespace cudadiag::record
