// Looks up the functions of a dump's relocated cubins by GPU address.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "evidence/bytes.h"
#include "evidence/damage.h"
#include "evidence/elf_image.h"
#include "evidence/kernel_facts.h"
#include "evidence/line_program.h"

namespace cudadiag::evidence {

struct Function {
  std::uint64_t address = 0, size = 0;
  std::string_view name;  // mangled
  bool kernel = false;    // the host can launch it
  std::uint32_t image = 0, section = 0;

  bool contains(std::uint64_t pc) const { return pc >= address && pc - address < size; }
};

class DeviceCode {
 public:
  DeviceCode(const std::vector<Bytes>& images, Budget& budget);

  // Returns the innermost function that contains `pc`, or null if the code is not in the dump. A kernel's code includes
  // the device functions that only this kernel calls.
  const Function* function_at(std::uint64_t pc) const;
  const Function* kernel_at(std::uint64_t pc) const;

  // Returns the instructions of a function.
  Bytes instructions(const Function& function) const;

  // Returns the parameters of a kernel.
  KernelFacts facts(const Function& kernel) const;

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
