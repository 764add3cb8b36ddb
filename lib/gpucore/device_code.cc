#include "gpucore/device_code.h"

#include <algorithm>
#include <utility>

namespace cudadiag::gpucore {
namespace {

constexpr std::uint64_t kSymbolSize = 24;
constexpr unsigned kFunctionSymbol = 2;
constexpr unsigned kKernelSymbol = 0x10;  // in st_other

// `$_Z6kernelPi$_Z4deepPii` is deep() as that kernel alone calls it.
std::string_view own_name(std::string_view symbol) {
  const std::size_t dollar = symbol.starts_with('$') ? symbol.rfind('$') : 0;
  return dollar == 0 ? symbol : symbol.substr(dollar + 1);
}

}  // namespace

DeviceCode::DeviceCode(const std::vector<Bytes>& images, Budget& budget) : budget_(budget) {
  for (const Bytes image : images) {
    const auto elf = ElfImage::read(image);
    if (!elf) {
      budget_.damage();
      continue;
    }
    if (elf->sections_missing() > 0) budget_.damage();
    images_.push_back(*elf);
    for (std::uint32_t i = 0; i < elf->sections(); ++i) {
      const Section section = elf->section(i);
      if (section.type == elf::kSymbols) read_symbols(static_cast<std::uint32_t>(images_.size() - 1), section);
    }
  }
}

// A symbol: name u32 @0, info u8 @4, other u8 @5, section u16 @6, value u64 @8, size u64 @16.
void DeviceCode::read_symbols(std::uint32_t image, const Section& table) {
  const ElfImage& elf = images_[image];
  const Bytes symbols = elf.contents(table);
  if (!budget_.take(symbols.size())) return;
  const Bytes names = elf.contents(elf.section(table.link));
  for (std::uint64_t at = 0; symbols.holds(at, kSymbolSize); at += kSymbolSize) {
    if ((symbols.u8(at + 4) & 0xf) != kFunctionSymbol) continue;
    const std::uint64_t address = symbols.u64(at + 8);
    // The driver loads functions at their first use. Until then a value is an offset in the section.
    if (address < elf.section(symbols.u16(at + 6)).size) continue;
    functions_.push_back({.address = address,
                          .size = symbols.u64(at + 16),
                          .name = own_name(names.text(symbols.u32(at))),
                          .kernel = (symbols.u8(at + 5) & kKernelSymbol) != 0,
                          .image = image,
                          .section = symbols.u16(at + 6)});
  }
}

const Function* DeviceCode::function_at(std::uint64_t pc) const {
  const Function* found = nullptr;
  for (const Function& function : functions_) {
    if (function.contains(pc) && (found == nullptr || function.size < found->size)) found = &function;
  }
  return found;
}

const Function* DeviceCode::kernel_at(std::uint64_t pc) const {
  const auto found = std::find_if(functions_.begin(), functions_.end(),
                                  [pc](const Function& function) { return function.kernel && function.contains(pc); });
  return found == functions_.end() ? nullptr : &*found;
}

Bytes DeviceCode::instructions(const Function& function) const {
  const ElfImage& elf = images_[function.image];
  const Section section = elf.section(function.section);
  if (function.address < section.address) return {};
  const Bytes code = elf.contents(section).slice(function.address - section.address, function.size);
  return code.size() == function.size ? code : Bytes();
}

std::vector<LineChain> DeviceCode::lines_at(std::span<const std::uint64_t> addresses) const {
  std::vector<LineChain> chains(addresses.size());
  std::vector<const Function*> functions;
  for (const std::uint64_t address : addresses) functions.push_back(function_at(address));
  for (std::uint32_t image = 0; image < images_.size(); ++image) {
    std::vector<std::uint64_t> wanted;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (functions[i] == nullptr || functions[i]->image != image) continue;
      wanted.push_back(addresses[i]);
      places.push_back(i);
    }
    const auto lines = wanted.empty() ? std::nullopt : images_[image].named(".debug_line");
    if (!lines) continue;
    const auto strings = images_[image].named(".debug_str");
    auto found = chains_at(wanted, images_[image].contents(*lines),
                           strings ? images_[image].contents(*strings) : Bytes(), budget_);
    for (std::size_t i = 0; i < places.size(); ++i) chains[places[i]] = std::move(found[i]);
  }
  return chains;
}

}  // namespace cudadiag::gpucore
