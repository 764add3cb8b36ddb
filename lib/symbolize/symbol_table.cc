#include "symbolize/symbol_table.h"

#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <set>

#include "base/demangle.h"

namespace cudadiag::symbolize {
namespace {

// An assembly function without a size extends to the next symbol, but at most this many bytes.
constexpr std::uint64_t kUnsizedReach = 4096;

std::uint8_t rank_of(unsigned binding) { return binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2; }

}  // namespace

SymbolTable::SymbolTable(Elf* elf, Elf* debug_file) {
  if (!add(elf, SHT_SYMTAB) && debug_file && debug_file != elf) add(debug_file, SHT_SYMTAB);
  add(elf, SHT_DYNSYM);
  std::sort(symbols_.begin(), symbols_.end(),
            [](const Symbol& a, const Symbol& b) { return a.begin != b.begin ? a.begin < b.begin : a.rank < b.rank; });
}

// Adds the functions in all sections of this type. Returns whether there is such a section.
bool SymbolTable::add(Elf* elf, std::uint32_t section_type) {
  bool found = false;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != section_type || header.sh_entsize == 0) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (!data) continue;
    found = true;
    const auto count = static_cast<int>(std::min<std::uint64_t>(data->d_size / header.sh_entsize, 1u << 28));
    for (int i = 0; i < count; ++i) {
      GElf_Sym symbol;
      if (!gelf_getsym(data, i, &symbol)) break;
      const unsigned type = GELF_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
      symbols_.push_back({symbol.st_value, symbol.st_value + symbol.st_size, elf, header.sh_link, symbol.st_name,
                          rank_of(GELF_ST_BIND(symbol.st_info))});
    }
  }
  return found;
}

std::vector<std::string> SymbolTable::names_at(std::uint64_t address) const {
  const auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                      [](std::uint64_t value, const Symbol& symbol) { return value < symbol.begin; });
  if (after == symbols_.begin()) return {};
  std::vector<std::string> names;
  std::set<std::string> readings;
  const std::uint64_t begin = std::prev(after)->begin;
  auto symbol = std::lower_bound(symbols_.begin(), after, begin,
                                 [](const Symbol& candidate, std::uint64_t value) { return candidate.begin < value; });
  for (; symbol != after; ++symbol) {
    const bool covered = symbol->end > symbol->begin ? address < symbol->end : address - begin < kUnsizedReach;
    if (!covered) continue;
    const char* name = elf_strptr(symbol->elf, symbol->strings, symbol->name);
    if (!name || !*name) continue;
    std::string kept(base::without_clone_suffix(name));
    if (readings.insert(base::demangle(kept)).second) names.push_back(std::move(kept));
  }
  return names;
}

}  // namespace cudadiag::symbolize
