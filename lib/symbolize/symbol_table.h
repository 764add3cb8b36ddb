// The functions of an ELF file by address. Internal to the room: libelf's types stay below elf_module.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Elf;

namespace cudadiag::symbolize {

class SymbolTable {
 public:
  // Takes .symtab of `elf`, else of `debug_file` (may be null), and what .dynsym has besides. Both must outlive the
  // table.
  SymbolTable(Elf* elf, Elf* debug_file);

  // Linkage names of the function around `address`, without the suffixes of optimisers, the best one first; empty if
  // none covers it. One of several names that read the same, as constructors' do.
  std::vector<std::string> names_at(std::uint64_t address) const;

 private:
  struct Symbol {
    std::uint64_t begin, end;
    Elf* elf;
    std::uint32_t strings, name;  // section of the string table, offset in it
    std::uint8_t rank;            // among symbols of one address, lower is better
  };
  bool add(Elf* elf, std::uint32_t section_type);

  std::vector<Symbol> symbols_;  // by address
};

}  // namespace cudadiag::symbolize
