#include "replay/output_comparison.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

namespace cudadiag::replay {
namespace {

constexpr std::size_t kCompared = std::size_t{1} << 20;

bool compare_file(const std::filesystem::path& here, const std::filesystem::path& there, const Contents& contents,
                  std::size_t block, Comparison& result) {
  std::ifstream a(here, std::ios::binary), b(there, std::ios::binary);
  std::vector<char> of_a(kCompared), of_b(kCompared);
  for (std::uint64_t at = 0; at < contents.bytes;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kCompared, contents.bytes - at));
    if (!a.read(of_a.data(), static_cast<std::streamsize>(size)) ||
        !b.read(of_b.data(), static_cast<std::streamsize>(size))) {
      return false;
    }
    result.compared += size;
    if (std::memcmp(of_a.data(), of_b.data(), size) != 0) {
      for (std::size_t i = 0; i < size; ++i) {
        if (of_a[i] == of_b[i]) continue;
        ++result.different;
        if (result.first) continue;
        result.first = FirstDifference{block, contents.from + at + i, static_cast<std::uint8_t>(of_a[i]),
                                       static_cast<std::uint8_t>(of_b[i])};
      }
    }
    at += size;
  }
  return true;
}

}  // namespace

std::optional<Comparison> compare_outputs(const SavedLaunch& launch, const std::filesystem::path& here,
                                          const std::filesystem::path& there) {
  Comparison result;
  for (std::size_t i = 0; i < launch.blocks.size(); ++i) {
    if (!launch.blocks[i].contents) continue;
    const std::string name = wire::saved_launch::kMemoryPrefix + std::to_string(i);
    if (!compare_file(here / name, there / name, *launch.blocks[i].contents, i, result)) return std::nullopt;
  }
  return result;
}

}  // namespace cudadiag::replay
