#include "evidence/kernel_facts.h"

#include <algorithm>
#include <iterator>

namespace cudadiag::evidence {

KernelFacts read_kernel_facts(Bytes section) {
  constexpr std::uint32_t kSized = 4, kBank = 0x0a, kParameter = 0x17;
  constexpr std::size_t kMostParameters = 4096;
  KernelFacts facts;
  for (std::uint64_t at = 0; at + 4 <= section.size();) {
    const std::uint32_t format = section.u8(at), attribute = section.u8(at + 1), value = section.u16(at + 2);
    const std::uint64_t here = at + 4;
    at = here + (format == kSized ? value : 0);
    if (format != kSized) continue;
    if (attribute == kBank && section.holds(here, 8) && facts.bytes == 0) {
      facts.offset = section.u16(here + 4);
      facts.bytes = section.u16(here + 6);
    }
    if (attribute == kParameter && section.holds(here, 12) && facts.parameters.size() < kMostParameters) {
      facts.parameters.push_back({section.u16(here + 4), section.u16(here + 6), section.u32(here + 8) >> 18});
    }
  }
  std::sort(facts.parameters.begin(), facts.parameters.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return facts;
}

const KernelFacts::Parameter* KernelFacts::at(std::uint32_t byte) const {
  const auto after = std::upper_bound(parameters.begin(), parameters.end(), byte,
                                      [](std::uint32_t value, const Parameter& each) { return value < each.offset; });
  if (after == parameters.begin()) return nullptr;
  const Parameter& before = *std::prev(after);
  return byte - before.offset < before.bytes ? &before : nullptr;
}

}  // namespace cudadiag::evidence
