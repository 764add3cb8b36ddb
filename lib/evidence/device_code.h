// Looks up the functions of a dump's relocated cubins by GPU address, and the source lines of instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/bytes.h"
#include "evidence/elf_image.h"

namespace cudadiag::evidence {

// One level of a chain of calls. The chain begins with the instruction's own line, and ends with the function that is
// not itself inlined.
struct LineFrame {
  std::string_view folder{}, file{};
  std::uint32_t line = 0;
  // The mangled name of the inlined function that contains the line; empty if unknown; nullopt if the function is not
  // inlined.
  std::optional<std::string_view> inlined{};

  std::string path() const {
    if (folder.empty() || file.starts_with('/')) return std::string(file);
    return std::string(folder) + "/" + std::string(file);
  }
};

using LineChain = std::vector<LineFrame>;

// Finds the chains of all `addresses` in one pass over `lines` (.debug_line). A chain is empty if no row covers its
// address.
std::vector<LineChain> chains_at(std::span<const std::uint64_t> addresses, Bytes lines, Bytes strings, Budget& budget);

// The parameters of a kernel.
struct KernelFacts {
  struct Parameter {
    std::uint32_t index = 0, offset = 0, bytes = 0;  // `offset` is relative to the first parameter
  };

  std::uint32_t offset = 0, bytes = 0;  // range of all parameters in constant bank 0; `bytes` is 0 if there are none or
                                        // if unknown
  std::vector<Parameter> parameters;    // sorted by offset
  bool clusters = false;                // the code was compiled for clusters of blocks

  // The parameter that contains this byte.
  const Parameter* at(std::uint32_t byte) const;
};

// Reads the section `.nv.info.KERNEL` of a cubin. It consists of entries: format u8, attribute u8, then 2 bytes of
// value or length. Attribute 0x0a: section u32, offset of the parameters in their constant bank u16, size u16.
// Attribute 0x17, for each parameter: u32, number u16, offset u16, and u32 with the size in its upper 14 bits.
// Attributes 0x3d and 0x3e belong to kernels with clusters.
KernelFacts read_kernel_facts(Bytes section);

struct Function {
  std::uint64_t address = 0, size = 0;
  std::string_view name;  // mangled
  bool kernel = false;    // the host can launch it
  std::uint32_t image = 0, section = 0;

  bool contains(std::uint64_t pc) const { return pc >= address && pc - address < size; }
};

// A `__device__` variable in the GPU's memory.
struct Variable {
  std::string name;  // mangled
  std::uint64_t address = 0, bytes = 0;

  bool contains(std::uint64_t at) const { return at >= address && at - address < bytes; }
};

class DeviceCode {
 public:
  DeviceCode(const std::vector<Bytes>& images, Budget& budget);

  // Returns the innermost function that contains `pc`, or null if the code is not in the dump. A kernel's code includes
  // the device functions that only this kernel calls.
  const Function* function_at(std::uint64_t pc) const;
  const Function* kernel_at(std::uint64_t pc) const;

  Bytes instructions(const Function& function) const;
  KernelFacts facts(const Function& kernel) const;
  // Returns the variables of the module that contains the function. Literals of strings are not among them.
  std::vector<Variable> variables(const Function& function) const;
  // Returns the addresses from which the module's code uses its variables: constant bank 4.
  Bytes variable_addresses(const Function& function) const;

  // Returns the line of each address and the inlined calls around it.
  std::vector<LineChain> lines_at(std::span<const std::uint64_t> addresses) const;

 private:
  // A range of addresses that all belong to the same function.
  struct Piece {
    std::uint64_t begin, end;
    std::size_t function;  // index in functions_
  };
  void read_symbols(std::uint32_t image, const Section& table);
  // Returns pieces that together cover all functions for which `wanted` is true. If functions overlap, the shared piece
  // belongs to the function that `before` orders first.
  template <typename Wanted, typename Before>
  std::vector<Piece> pieces(Wanted wanted, Before before) const;
  const Function* in(const std::vector<Piece>& pieces, std::uint64_t pc) const;

  std::vector<ElfImage> images_;
  std::vector<Function> functions_;
  std::vector<Piece> innermost_, kernels_;  // sorted by address
  Budget& budget_;
};

}  // namespace cudadiag::evidence
