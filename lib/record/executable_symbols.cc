#include "record/executable_symbols.h"

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

constexpr std::uint64_t kMost = std::uint64_t{64} << 20;  // bytes of a table
constexpr std::size_t kLongest = 64;                      // of the names, with their end
constexpr std::size_t kPiece = std::size_t{64} << 10;

class Executable {
 public:
  Executable() : fd_(open("/proc/self/exe", O_RDONLY | O_CLOEXEC)) {}
  ~Executable() {
    if (fd_ >= 0) close(fd_);
  }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  // False: neither table is there, or usable.
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

  // Calls `each` with the place of `name` in the table of names; several times where others end like it.
  template <typename Each>
  void find_name(std::string_view name, Each each) const {
    std::array<char, kLongest> wanted{};  // with its end
    if (name.size() >= wanted.size()) return;
    memcpy(wanted.data(), name.data(), name.size());
    for_each_piece(names_, kLongest, [&](std::uint64_t at, std::span<const char> piece) {
      const char* end = piece.data() + piece.size();
      for (const char* from = piece.data();;) {
        const auto* found = static_cast<const char*>(
            memmem(from, static_cast<std::size_t>(end - from), wanted.data(), name.size() + 1));
        if (found == nullptr) return;
        each(at + static_cast<std::uint64_t>(found - piece.data()));
        from = found + 1;
      }
    });
  }

  template <typename Each>
  void for_each_symbol(Each each) const {
    for_each_piece(symbols_, 0, [&](std::uint64_t, std::span<const char> piece) {
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

  // Each piece begins with the last bytes of the one before it, `again` of them.
  template <typename Each>
  void for_each_piece(const Elf64_Shdr& section, std::size_t again, Each each) const {
    constexpr std::size_t kWhole = kPiece / sizeof(Elf64_Sym) * sizeof(Elf64_Sym);
    for (std::uint64_t at = 0; at < section.sh_size; at += kWhole - again) {
      const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kWhole, section.sh_size - at));
      const ssize_t got = pread(fd_, piece_->data(), wanted, static_cast<off_t>(section.sh_offset + at));
      if (got != static_cast<ssize_t>(wanted)) return;
      each(at, {piece_->data(), wanted});
      if (at + wanted == section.sh_size) return;
    }
  }

  Uncancelled uncancelled_;
  int fd_;
  Elf64_Shdr symbols_{}, names_{};
  Scratch<std::array<char, kPiece>> piece_;
};

}  // namespace

void find_in_executable(std::span<const std::string_view> names, std::span<CodeRange> functions) {
  struct Place {
    std::uint64_t name;
    std::size_t which;
  };
  std::array<Place, 16> places;
  std::size_t count = 0;
  Executable executable;
  if (!executable.find_tables()) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    executable.find_name(names[i], [&](std::uint64_t at) {
      if (count < places.size()) places[count++] = {at, i};
    });
  }
  executable.for_each_symbol([&](const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) return;
    for (const Place& place : std::span(places).first(count)) {
      if (place.name == symbol.st_name) functions[place.which] = {symbol.st_value, symbol.st_value + symbol.st_size};
    }
  });
}

}  // namespace cudadiag::record
