#include "record/stacks/executable_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "record/scratch.h"
#include "record/uncancelled.h"

namespace cudadiag::record {

namespace {

constexpr std::uint64_t kMost = std::uint64_t{64} << 20;  // limit for the size of a table
constexpr std::size_t kLongest = 64;                      // limit for the length of a name
constexpr std::size_t kPiece = std::size_t{64} << 10;

class Executable {
 public:
  Executable() : fd_(open("/proc/self/exe", O_RDONLY | O_CLOEXEC)) {}
  ~Executable() {
    if (fd_ >= 0) close(fd_);
  }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  // Returns false if the symbol table or its string table is missing or unusable.
  bool find_tables() {
    Elf64_Ehdr header;
    if (!piece_ || !read(header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) return false;
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
      if (!read(symbols_, header.e_shoff + i * sizeof symbols_)) return false;
      if (symbols_.sh_type != SHT_SYMTAB) continue;
      return read(names_, header.e_shoff + symbols_.sh_link * sizeof names_) && symbols_.sh_size <= kMost &&
             names_.sh_size <= kMost;
    }
    return false;
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
  Executable executable;
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

}  // namespace cudadiag::record
