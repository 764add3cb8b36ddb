#include "supervise/tools/kernel_code.h"

#include <fmt/core.h>

#include <algorithm>

namespace cudadiag::supervise {
namespace {

using evidence::Bytes;
using evidence::ElfImage;
using evidence::Section;

constexpr std::string_view kCode = ".text.", kFacts = ".nv.info.";
constexpr std::uint32_t kRelocations = 4, kShortRelocations = 9;  // SHT_RELA, SHT_REL
constexpr std::uint32_t kFunction = 2;                            // STT_FUNC

// In older files the architecture is the lowest byte of the ELF flags, from ABI version 8 on the next one.
std::string architecture_of(Bytes file) {
  const std::uint32_t flags = file.u32(48), abi = file.u16(8) & 0xff;
  const std::uint32_t number = (abi >= 8 ? flags >> 8 : flags) & 0xff;
  // The names with a letter know more instructions.
  return fmt::format("SM{}{}", number, number >= 90 ? "a" : "");
}

// Entries: format u8, attribute u8, then 2 bytes of value or of length. Attribute 0x0a: u32 section, u16 offset of the
// parameters in their constant bank, u16 bytes. 0x17, of each parameter: u32, u16 its number, u16 where it begins among
// them, u32.
template <typename Visit>
void each_fact(Bytes facts, const Visit& visit) {
  for (std::uint64_t at = 0; at + 4 <= facts.size();) {
    const std::uint32_t head = facts.u16(at), value = facts.u16(at + 2);
    const bool sized = (head & 0xff) == 4;
    if (sized && at + 12 <= facts.size()) visit(head >> 8, at + 4);
    at += 4 + (sized ? value : 0);
  }
}

sass::ParameterBank bank_of(Bytes facts) {
  sass::ParameterBank bank;
  each_fact(facts, [&](std::uint32_t attribute, std::uint64_t at) {
    if (attribute == 0x0a && bank.size == 0) bank = {facts.u16(at + 4), facts.u16(at + 6)};
  });
  return bank;
}

std::vector<std::uint32_t> parameters_of(Bytes facts) {
  std::vector<std::uint32_t> begins;
  each_fact(facts, [&](std::uint32_t attribute, std::uint64_t at) {
    if (attribute == 0x17) begins.push_back(facts.u16(at + 6));
  });
  std::sort(begins.begin(), begins.end());
  return begins;
}

// Functions of CUDA's own, which alter nothing that a kernel's parameters point to.
bool is_harmless(std::string_view function) {
  constexpr std::string_view kKnown[] = {"__assertfail", "vprintf", "malloc", "free"};
  return std::find(std::begin(kKnown), std::end(kKnown), function) != std::end(kKnown);
}

// Functions that lie elsewhere, and those whose address is taken, have relocations. A symbol: name u32 @0, type in the
// lower half of u8 @4, 24 bytes in all. A relocation: u64 @8 with the symbol's index above 32 bits of its own kind.
sass::Calls calls_of(const ElfImage& image) {
  for (std::uint32_t i = 0; i < image.sections(); ++i) {
    const Section section = image.section(i);
    const bool is_short = section.type == kShortRelocations;
    if ((section.type != kRelocations && !is_short) || image.name(section).find(".debug") != std::string_view::npos) {
      continue;
    }
    const Section table = image.section(section.link);
    const Bytes entries = image.contents(section), symbols = image.contents(table),
                names = image.contents(image.section(table.link));
    const std::uint64_t size = is_short ? 16 : 24;
    for (std::uint64_t at = 0; at + size <= entries.size(); at += size) {
      const std::uint64_t symbol = (entries.u64(at + 8) >> 32) * 24;
      if (symbol + 24 > symbols.size()) return sass::Calls::anything;
      const bool is_function = (symbols.u16(symbol + 4) & 0xf) == kFunction;
      if (is_function && !is_harmless(names.text(symbols.u32(symbol)))) return sass::Calls::anything;
    }
  }
  return sass::Calls::harmless;
}

}  // namespace

std::vector<std::string> kernels_of(const ElfImage& image) {
  std::vector<std::string> kernels;
  for (std::uint32_t i = 0; i < image.sections(); ++i) {
    const std::string_view name = image.name(image.section(i));
    if (name.starts_with(kCode)) kernels.emplace_back(name.substr(kCode.size()));
  }
  return kernels;
}

std::optional<KernelCode> kernel_code(const ElfImage& image, const std::string& kernel) {
  const auto code = image.named(std::string(kCode) + kernel), facts = image.named(std::string(kFacts) + kernel);
  if (!code || !facts) return std::nullopt;
  const sass::ParameterBank bank = bank_of(image.contents(*facts));
  if (bank.size == 0) return std::nullopt;
  return KernelCode{architecture_of(image.file()), bank, parameters_of(image.contents(*facts)), calls_of(image),
                    image.contents(*code)};
}

}  // namespace cudadiag::supervise
