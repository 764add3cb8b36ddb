// Reads the sections of a 64-bit ELF file in memory: a dump, or a cubin inside a dump.
//
// The file header:    e_type u16 @16, e_machine u16 @18, e_shoff u64 @40, e_shentsize u16 @58, e_shnum u16 @60,
//                     e_shstrndx u16 @62
// A section header:   name u32 @0, type u32 @4, flags u64 @8, address u64 @16, offset u64 @24, size u64 @32,
//                     link u32 @40, info u32 @44, alignment u64 @48, entry size u64 @56
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "evidence/bytes.h"

namespace cudadiag::evidence {

inline constexpr std::uint16_t kCudaMachine = 0xbe;

namespace elf {
inline constexpr std::uint16_t kCore = 4;
inline constexpr std::uint32_t kNone = 0, kSymbols = 2, kStrings = 3, kNoBits = 8;
}  // namespace elf

struct Section {
  std::uint32_t name = 0;  // offset in the table of section names
  std::uint32_t type = 0;
  std::uint64_t address = 0, offset = 0, size = 0, entry_size = 0;
  std::uint32_t link = 0, info = 0;
};

class ElfImage {
 public:
  // sections() excludes headers past the end of `file`.
  static std::optional<ElfImage> read(Bytes file);

  std::uint16_t type() const { return file_.u16(16); }
  Bytes file() const { return file_; }
  std::uint32_t sections() const { return count_; }
  std::uint64_t sections_missing() const { return missing_; }

  Section section(std::uint32_t index) const;  // all members are 0 if `index` is not less than sections()
  std::string_view name(const Section& section) const { return names_.text(section.name); }
  bool whole(const Section& section) const;      // true if the file contains the section completely
  Bytes contents(const Section& section) const;  // the part of its contents that the file has
  std::optional<Section> named(std::string_view name) const;

 private:
  Bytes file_, headers_, names_;
  std::uint64_t header_size_ = 0, missing_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace cudadiag::evidence
