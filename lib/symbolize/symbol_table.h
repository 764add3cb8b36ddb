// The functions of an ELF file by address. Internal to lib/symbolize: libelf's types are used only below elf_module.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Elf;

namespace cudadiag::symbolize {

class SymbolTable {
 public:
  // Reads .symtab of `elf`, or of `debug_file` (which may be null) if there is none, and further symbols from .dynsym.
  // Both must outlive the table.
  SymbolTable(Elf* elf, Elf* debug_file);

  // Returns the linkage names of the function that contains `address`, without suffixes from optimisers, the best one
  // first. Empty if none covers it. Returns only one of several names that demangle alike, such as those of
  // constructors.
  std::vector<std::string> names_at(std::uint64_t address) const;

 private:
  struct Symbol {
    std::uint64_t begin, end;
    Elf* elf;
    std::uint32_t strings, name;  // section of the string table, offset in it
    std::uint8_t rank;            // among symbols of one address; lower is better
  };
  bool add(Elf* elf, std::uint32_t section_type);

  std::vector<Symbol> symbols_;  // sorted by address
};

}  // namespace cudadiag::symbolize
