#include "supervise/tools/kernel_code.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "evidence/device_code.h"
#include "session/plain_file.h"
#include "wire/fat_binary.h"

namespace cudadiag::supervise {
namespace {

using evidence::Bytes;
using evidence::ElfImage;
using evidence::Section;

constexpr std::string_view kCode = ".text.", kFacts = ".nv.info.";
constexpr std::uint32_t kRelocations = 4, kShortRelocations = 9;  // SHT_RELA, SHT_REL
constexpr std::uint32_t kFunction = 2;                            // STT_FUNC

// The architecture is a byte of the ELF flags: the lowest one in older files, and the next one from ABI version 8 on.
std::string architecture_of(Bytes file) {
  const std::uint32_t flags = file.u32(48), abi = file.u16(8) & 0xff;
  const std::uint32_t number = (abi >= 8 ? flags >> 8 : flags) & 0xff;
  // With the suffix "a", nvdisasm accepts more of the architecture's instructions.
  return fmt::format("SM{}{}", number, number >= 90 ? "a" : "");
}

// Returns whether this is a CUDA function that never changes the memory that a kernel's parameters point to.
bool is_harmless(std::string_view function) {
  constexpr std::string_view kKnown[] = {"__assertfail", "vprintf", "malloc", "free"};
  return std::find(std::begin(kKnown), std::end(kKnown), function) != std::end(kKnown);
}

// Finds calls to functions in other files, and functions whose address is taken, by their relocations. A symbol has 24
// bytes: name u32 @0, type in the lower half of u8 @4. A relocation has u64 @8: its kind in the lower 32 bits, the
// symbol's index above.
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

std::string read_cubin(const std::filesystem::path& file, std::uint64_t most) {
  std::string stored = session::read_plain_file(file, most).value_or("");
  const auto bytes = std::as_bytes(std::span(stored));
  wire::fat_binary::Entry entry{};
  if (stored.starts_with("\177ELF") || !wire::fat_binary::read(bytes, 0, entry)) return stored;
  std::string out(wire::fat_binary::size_decompressed(entry, most), '\0');
  void* library = ::dlopen(wire::fat_binary::library_for(entry), RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : ::dlsym(library, wire::fat_binary::function_for(entry));
  const bool done = wire::fat_binary::decompress(entry, bytes, std::as_writable_bytes(std::span(out)), function);
  if (library != nullptr) ::dlclose(library);
  return done ? out : "";
}

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
  const evidence::KernelFacts known = evidence::read_kernel_facts(image.contents(*facts));
  if (known.bytes == 0) return std::nullopt;
  std::vector<std::uint32_t> begins;
  for (const auto& parameter : known.parameters) begins.push_back(parameter.offset);
  return KernelCode{architecture_of(image.file()),
                    {known.offset, known.bytes},
                    std::move(begins),
                    calls_of(image),
                    image.contents(*code)};
}

}  // namespace cudadiag::supervise
