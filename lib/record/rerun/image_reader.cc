#include "record/rerun/image_reader.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>

#include "wire/fat_binary.h"

namespace cudadiag::record {

namespace {

using wire::fat_binary::Bytes;
using wire::fat_binary::Entry;
using wire::fat_binary::EntryKind;
using wire::fat_binary::part;
using wire::fat_binary::read;

constexpr std::size_t kMostDecompressed = std::size_t{1} << 28;

const char* text_at(Bytes bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return "";
  const auto* text = reinterpret_cast<const char*>(bytes.data() + offset);
  return memchr(text, 0, bytes.size() - offset) == nullptr ? "" : text;
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

bool list_of_code(EntryKind kind, Bytes code, NameList& names) {
  return kind == EntryKind::cubin ? Cubin(code).list(names) : list_of_text(code, names);
}

bool list_of_entry(const Entry& entry, Bytes all, NameList& names) {
  if (!entry.is_compressed()) return list_of_code(entry.kind, all.subspan(entry.header), names);
  const std::size_t size = wire::fat_binary::size_decompressed(entry, kMostDecompressed);
  void* room = size == 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  const std::span<std::byte> to(static_cast<std::byte*>(room), size);
  void* library = dlopen(wire::fat_binary::library_for(entry), RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : dlsym(library, wire::fat_binary::function_for(entry));
  const bool listed = wire::fat_binary::decompress(entry, all, to, function) && list_of_code(entry.kind, to, names);
  if (library != nullptr) dlclose(library);
  munmap(room, size);
  return listed;
}

// Lists the variables of the entries that `wanted` accepts. Returns the number of entries that could be read.
template <typename Wanted>
std::size_t list_entries(Bytes bytes, NameList& names, Wanted wanted) {
  std::size_t read_whole = 0;
  wire::fat_binary::each_entry(bytes, [&](const Entry& entry, Bytes all) {
    const bool is_code = entry.kind == EntryKind::text || entry.kind == EntryKind::cubin;
    if (is_code && wanted(entry) && list_of_entry(entry, all, names)) ++read_whole;
  });
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
  const auto own = [&](const Entry& entry) {
    return entry.kind == EntryKind::cubin && entry.architecture == architecture;
  };
  return list_entries(bytes, names, own) > 0 || list_entries(bytes, names, [](const Entry&) { return true; }) > 0;
}

namespace {

using wire::saved_launch::Image;

constexpr std::uint32_t kWrapperMagic = 0x466243b1;  // __fatBinC_Wrapper_t of the toolkit's fatbinary_section.h
using wire::fat_binary::kMagic;
constexpr std::size_t kMostBytes = std::size_t{1} << 31;

template <typename T>
T at(const std::byte* place, std::size_t offset = 0) {
  T value;
  memcpy(&value, place + offset, sizeof value);
  return value;
}

// Returns the offset at which the last part of the file ends: the section headers, the program headers or the contents
// of a section.
std::size_t elf_size(const std::byte* image) {
  const auto header = at<Elf64_Ehdr>(image);
  std::uint64_t end = sizeof header;
  end = std::max<std::uint64_t>(end, header.e_shoff + std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  end = std::max<std::uint64_t>(end, header.e_phoff + std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (end > kMostBytes) return 0;
  for (std::size_t i = 0; header.e_shentsize == sizeof(Elf64_Shdr) && i < header.e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type == SHT_NOBITS || section.sh_offset > kMostBytes || section.sh_size > kMostBytes) continue;
    end = std::max<std::uint64_t>(end, section.sh_offset + section.sh_size);
  }
  return end > kMostBytes ? 0 : end;
}

std::size_t fatbin_size(const std::byte* image) {
  const auto header = at<std::uint16_t>(image, 6);
  const auto rest = at<std::uint64_t>(image, 8);
  return rest > kMostBytes ? 0 : header + rest;
}

bool begins_text(std::byte first) {
  const auto c = static_cast<unsigned char>(first);
  return (c >= 0x20 && c < 0x7f) || (c >= '\t' && c <= '\r');
}

}  // namespace

ImageExtent image_extent(const void* code) {
  const auto* image = static_cast<const std::byte*>(code);
  if (image == nullptr) return {};
  if (!begins_text(*image) && *image != std::byte{ELFMAG0} && *image != std::byte{0x50} && *image != std::byte{0xb1}) {
    return {};
  }
  if (at<std::uint32_t>(image) == kWrapperMagic) {
    image = at<const std::byte*>(image, 8);
    if (image == nullptr || at<std::uint32_t>(image) != kMagic) return {};
  }
  std::size_t size = 0;
  Image form = Image::text;
  if (at<std::uint32_t>(image) == kMagic) {
    form = Image::fatbin;
    size = fatbin_size(image);
  } else if (memcmp(image, ELFMAG, SELFMAG) == 0) {
    form = Image::cubin;
    size = elf_size(image);
  } else if (begins_text(*image)) {
    size = strnlen(reinterpret_cast<const char*>(image), kMostBytes);
  }
  return size == 0 ? ImageExtent() : ImageExtent{image, size, form};
}

void each_cubin(Bytes image, std::span<const std::uint32_t> architectures, void (*visit)(Bytes, void*), void* data) {
  std::uint32_t magic = 0;
  if (!read(image, 0, magic)) return;
  if (memcmp(image.data(), ELFMAG, SELFMAG) == 0) return visit(image, data);
  if (magic != kMagic) return;
  // A GPU runs code for its own architecture, or for an earlier one of the same generation.
  std::array<std::uint32_t, kMostArchitectures> best{};
  const std::size_t count = std::min(architectures.size(), best.size());
  wire::fat_binary::each_entry(image, [&](const Entry& entry, Bytes) {
    if (entry.kind != EntryKind::cubin) return;
    for (std::size_t i = 0; i < count; ++i) {
      const bool runs = entry.architecture / 10 == architectures[i] / 10 && entry.architecture <= architectures[i];
      if (runs) best[i] = std::max(best[i], entry.architecture);
    }
  });
  wire::fat_binary::each_entry(image, [&](const Entry& entry, Bytes all) {
    if (entry.kind != EntryKind::cubin || std::find(best.begin(), best.end(), entry.architecture) == best.end()) return;
    visit(entry.is_compressed() ? all : all.subspan(entry.header), data);
  });
}

}  // namespace cudadiag::record
