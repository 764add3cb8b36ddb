// Looks up functions by address in the symbol tables of an ELF file. Internal to lib/symbolize: only the code below
// elf_module.h uses libelf's types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Elf;

namespace cudadiag::symbolize {

class SymbolTable {
 public:
  // Reads .symtab of `elf` or, if there is none, of `debug_file` (which may be null). Adds further symbols from
  // .dynsym. Both files must outlive the table.
  SymbolTable(Elf* elf, Elf* debug_file);

  // Returns the linkage names of the function that contains `address`, in order of preference. Removes the suffixes
  // that optimisers add. If several names demangle to the same text, as for constructors, returns only one of them.
  std::vector<std::string> names_at(std::uint64_t address) const;

 private:
  struct Symbol {
    std::uint64_t begin, end;
    Elf* elf;
    std::uint32_t strings, name;  // index of the string table's section, and offset in that section
    std::uint8_t rank;            // orders symbols with the same address; lower is preferred
  };
  bool add(Elf* elf, std::uint32_t section_type);

  std::vector<Symbol> symbols_;  // sorted by address
};

}  // namespace cudadiag::symbolize
