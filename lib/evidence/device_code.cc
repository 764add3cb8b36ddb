#include "evidence/device_code.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace cudadiag::evidence {
namespace {

constexpr std::uint64_t kSectionSize = 64;  // bytes in a section header
constexpr std::uint64_t kSymbolSize = 24;
constexpr unsigned kFunctionSymbol = 2;
constexpr unsigned kKernelSymbol = 0x10;  // flag in st_other

// If only one kernel calls a device function, the function's symbol begins with the kernel's name. Removes that name:
// `$_Z6kernelPi$_Z4deepPii` becomes `_Z4deepPii`.
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
    if (!budget_.take(elf->sections() * kSectionSize)) continue;
    images_.push_back(*elf);
    for (std::uint32_t i = 0; i < elf->sections(); ++i) {
      const Section section = elf->section(i);
      if (section.type == elf::kSymbols) read_symbols(static_cast<std::uint32_t>(images_.size() - 1), section);
    }
  }
  innermost_ = pieces([](const Function&) { return true; },
                      [this](std::size_t a, std::size_t b) {
                        return std::pair(functions_[a].size, a) < std::pair(functions_[b].size, b);
                      });
  kernels_ = pieces([](const Function& function) { return function.kernel; }, std::less<>());
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
    // The driver loads a function at its first use. Until then, the symbol's value is an offset in the section rather
    // than an address.
    if (address < elf.section(symbols.u16(at + 6)).size) continue;
    functions_.push_back({.address = address,
                          .size = symbols.u64(at + 16),
                          .name = own_name(names.text(symbols.u32(at))),
                          .kernel = (symbols.u8(at + 5) & kKernelSymbol) != 0,
                          .image = image,
                          .section = symbols.u16(at + 6)});
  }
}

// Splits the address space into pieces that do not overlap, so that each look-up is a binary search.
template <typename Wanted, typename Before>
std::vector<DeviceCode::Piece> DeviceCode::pieces(Wanted wanted, Before before) const {
  std::vector<std::tuple<std::uint64_t, bool, std::size_t>> edges;  // address, whether the function begins there,
                                                                    // function
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const Function& function = functions_[i];
    if (function.size == 0 || !wanted(function)) continue;
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - function.address;
    edges.emplace_back(function.address, true, i);
    edges.emplace_back(function.address + std::min(function.size, room), false, i);
  }
  std::sort(edges.begin(), edges.end());
  std::set<std::size_t, Before> open(before);
  std::vector<Piece> found;
  std::uint64_t from = 0;
  for (const auto& [address, begins, function] : edges) {
    if (!open.empty() && address > from) found.push_back({from, address, *open.begin()});
    from = address;
    begins ? void(open.insert(function)) : void(open.erase(function));
  }
  return found;
}

const Function* DeviceCode::in(const std::vector<Piece>& pieces, std::uint64_t pc) const {
  const auto after = std::upper_bound(pieces.begin(), pieces.end(), pc,
                                      [](std::uint64_t value, const Piece& piece) { return value < piece.begin; });
  if (after == pieces.begin() || std::prev(after)->end <= pc) return nullptr;
  return &functions_[std::prev(after)->function];
}

const Function* DeviceCode::function_at(std::uint64_t pc) const { return in(innermost_, pc); }

const Function* DeviceCode::kernel_at(std::uint64_t pc) const { return in(kernels_, pc); }

Bytes DeviceCode::instructions(const Function& function) const {
  const ElfImage& elf = images_[function.image];
  const Section section = elf.section(function.section);
  if (function.address < section.address) return {};
  const Bytes code = elf.contents(section).slice(function.address - section.address, function.size);
  return code.size() == function.size ? code : Bytes();
}

KernelFacts DeviceCode::facts(const Function& kernel) const {
  const ElfImage& elf = images_[kernel.image];
  const auto section = elf.named(".nv.info." + std::string(kernel.name));
  return section ? read_kernel_facts(elf.contents(*section)) : KernelFacts{};
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

}  // namespace cudadiag::evidence
