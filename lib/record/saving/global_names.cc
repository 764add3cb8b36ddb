#include "record/saving/global_names.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <span>

namespace cudadiag::record {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kMostDecompressed = std::size_t{1} << 28;

template <typename T>
bool read(Bytes bytes, std::uint64_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return false;
  memcpy(&value, bytes.data() + offset, sizeof value);
  return true;
}

// Returns the text at an offset.
const char* text_at(Bytes bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return "";
  const auto* text = reinterpret_cast<const char*>(bytes.data() + offset);
  return memchr(text, 0, bytes.size() - offset) == nullptr ? "" : text;
}

Bytes part(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return {bytes.data() + offset, static_cast<std::size_t>(size)};
}

bool starts_with(const char* text, const char* start) { return strncmp(text, start, strlen(start)) == 0; }

// Lists the variables in the sections .nv.global, .nv.global.init and .nv.constant3. Other constant banks belong to the
// compiler.
class Cubin {
 public:
  explicit Cubin(Bytes bytes) : bytes_(bytes) {
    whole_ = read(bytes, 0, header_) && memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
             header_.e_shentsize == sizeof(Elf64_Shdr) && section(header_.e_shstrndx, names_);
  }

  bool list(NameList& names) const {
    Elf64_Shdr table{};
    if (!whole_) return false;
    for (std::uint32_t i = 0; i < header_.e_shnum; ++i) {
      if (section(i, table) && table.sh_type == SHT_SYMTAB) return list_of(table, names);
    }
    return true;
  }

 private:
  bool section(std::uint32_t index, Elf64_Shdr& to) const {
    return index < header_.e_shnum && read(bytes_, header_.e_shoff + index * sizeof to, to);
  }
  bool has_variables(std::uint32_t index) const {
    Elf64_Shdr header{};
    if (!section(index, header)) return false;
    const char* name = text_at(part(bytes_, names_.sh_offset, names_.sh_size), header.sh_name);
    return starts_with(name, ".nv.global") || strcmp(name, ".nv.constant3") == 0;
  }
  bool list_of(const Elf64_Shdr& table, NameList& names) const {
    Elf64_Shdr texts{};
    if (!section(table.sh_link, texts)) return false;
    const Bytes symbols = part(bytes_, table.sh_offset, table.sh_size),
                text = part(bytes_, texts.sh_offset, texts.sh_size);
    Elf64_Sym symbol{};
    for (std::uint64_t at = 0; read(symbols, at, symbol); at += sizeof symbol) {
      const char* name = text_at(text, symbol.st_name);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0 || *name == '\0') continue;
      if (has_variables(symbol.st_shndx)) names.add(name, strlen(name));
    }
    return true;
  }

  Bytes bytes_;
  Elf64_Ehdr header_{};
  Elf64_Shdr names_{};
  bool whole_ = false;
};

// In ".visible .global .align 4 .b8 table[400] = {…};", the name is the last word before "[", "=" or ";".
void list_of_line(const char* begin, const char* end, NameList& names) {
  const auto has = [&](const char* word) {
    return memmem(begin, static_cast<std::size_t>(end - begin), word, strlen(word)) != nullptr;
  };
  if (!has(".global ") && !has(".const ")) return;
  const auto is_in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
  };
  const char* stop = begin;
  while (stop != end && *stop != '[' && *stop != '=' && *stop != ';') ++stop;
  if (stop == end) return;
  while (stop != begin && !is_in_name(stop[-1])) --stop;
  const char* start = stop;
  while (start != begin && is_in_name(start[-1])) --start;
  const bool is_word = start != begin && (start[-1] == ' ' || start[-1] == '\t');
  if (start != stop && is_word) names.add(start, static_cast<std::size_t>(stop - start));
}

// Lists the variables that PTX text declares outside of functions. These declarations begin at the start of a line.
bool list_of_text(Bytes bytes, NameList& names) {
  const auto* at = reinterpret_cast<const char*>(bytes.data());
  const char* const all = at + bytes.size();
  while (at != all) {
    const auto* end = static_cast<const char*>(memchr(at, '\n', static_cast<std::size_t>(all - at)));
    if (end == nullptr) end = all;
    if (*at == '.') list_of_line(at, end, names);
    at = end == all ? all : end + 1;
  }
  return true;
}

// ---- fat binaries

//    0      2      4             8        16                20   24      28             32         36        40
//    +------+------+-------------+--------+-----------------+----+-------+--------------+----------+---------+
//    | kind | 0x101| header size | bytes  | compressed size | 0  | version | architecture | name at| length  |
//    +------+------+-------------+--------+-----------------+----+-------+--------------+----------+---------+
//    40      48  56                  64
//    +-------+---+-------------------+
//    | flags | 0 | size decompressed |
//    +-------+---+-------------------+
// This is the format of nvcc 13.0.
struct Entry {
  std::uint16_t kind;
  std::uint32_t header, compressed, architecture;
  std::uint64_t bytes, flags, decompressed;
};
constexpr std::uint16_t kText = 1, kElf = 2;
constexpr std::uint64_t kLz4 = 0x2000, kZstandard = 0x8000;

bool read_entry(Bytes bytes, std::uint64_t at, Entry& entry) {
  return read(bytes, at, entry.kind) && read(bytes, at + 4, entry.header) && read(bytes, at + 8, entry.bytes) &&
         read(bytes, at + 16, entry.compressed) && read(bytes, at + 28, entry.architecture) &&
         read(bytes, at + 40, entry.flags) && read(bytes, at + 56, entry.decompressed);
}

// Opens the library for this call only, because the recorder must not depend on it.
bool decompress(bool is_lz4, Bytes from, std::span<std::byte> to) {
  using Lz4 = int (*)(const char*, char*, int, int);
  using Zstandard = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
  void* library = dlopen(is_lz4 ? "liblz4.so.1" : "libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  void* function = dlsym(library, is_lz4 ? "LZ4_decompress_safe" : "ZSTD_decompress");
  std::size_t size = 0;
  if (function != nullptr && is_lz4) {
    const int written =
        reinterpret_cast<Lz4>(function)(reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to.data()),
                                        static_cast<int>(from.size()), static_cast<int>(to.size()));
    size = static_cast<std::size_t>(std::max(written, 0));
  } else if (function != nullptr) {
    size = reinterpret_cast<Zstandard>(function)(to.data(), to.size(), from.data(), from.size());
  }
  dlclose(library);
  return size == to.size();
}

bool list_of_code(std::uint16_t kind, Bytes code, NameList& names) {
  return kind == kElf ? Cubin(code).list(names) : list_of_text(code, names);
}

bool list_of_entry(const Entry& entry, Bytes code, NameList& names) {
  if ((entry.flags & (kLz4 | kZstandard)) == 0) return list_of_code(entry.kind, code, names);
  const std::size_t size = entry.decompressed;
  if (size == 0 || size > kMostDecompressed || entry.compressed > std::min(code.size(), kMostDecompressed))
    return false;
  void* room = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  const std::span<std::byte> to(static_cast<std::byte*>(room), size);
  const Bytes from = code.first(entry.compressed);
  const bool listed = decompress((entry.flags & kLz4) != 0, from, to) && list_of_code(entry.kind, to, names);
  munmap(room, size);
  return listed;
}

// Lists the variables of the entries that `wanted` accepts. Returns the number of entries that could be read.
template <typename Wanted>
std::size_t list_entries(Bytes bytes, NameList& names, Wanted wanted) {
  std::uint16_t header = 0;
  std::size_t read_whole = 0;
  Entry entry{};
  if (!read(bytes, 6, header)) return 0;
  for (std::uint64_t at = header; read_entry(bytes, at, entry);) {
    const Bytes code = part(bytes, at + entry.header, entry.bytes);
    if (code.empty() || entry.header == 0) break;
    const bool is_code = entry.kind == kText || entry.kind == kElf;
    if (is_code && wanted(entry) && list_of_entry(entry, code, names)) ++read_whole;
    at += entry.header + entry.bytes;
  }
  return read_whole;
}

}  // namespace

void NameList::add(const char* name, std::size_t length) {
  if (length + 1 > kMostBytes - used) {
    cut = true;
    return;
  }
  memcpy(text + used, name, length);
  text[used + length] = '\0';
  used += length + 1;
}

bool list_globals(const ImageExtent& image, std::uint32_t architecture, NameList& names) {
  using Form = wire::saved_launch::Image;
  const Bytes bytes(image.begin, image.size);
  if (image.form == Form::cubin) return Cubin(bytes).list(names);
  if (image.form == Form::text) return list_of_text(bytes, names);
  const auto own = [&](const Entry& entry) { return entry.kind == kElf && entry.architecture == architecture; };
  return list_entries(bytes, names, own) > 0 || list_entries(bytes, names, [](const Entry&) { return true; }) > 0;
}

}  // namespace cudadiag::record
