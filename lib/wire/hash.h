// A 64-bit hash for the recorder's tables and for keys that are compared between runs: one multiplication per word.
// Stacks and names with equal hashes are treated as equal. A table has at most 65,536 entries, so a collision has a
// probability of about 10^-10.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudadiag::wire {

inline constexpr std::uint64_t kHashSeed = 0x9e3779b97f4a7c15;

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(hash ^ word) * 0xd6e8feb86659fd93u;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^ (hash << 1);
}

// sum_of() multiplies each word by a different factor and adds up the products. The processor can therefore execute the
// multiplications in parallel. The sum is not a hash: the caller must pass it to mix(), alone or as part of a
// polynomial in kSumFactor.
inline constexpr std::uint64_t kSumFactor = 0x9fb21c651e98df25;

template <typename... Words>
std::uint64_t sum_of(Words... words) {
  // The factors are odd and fit an immediate operand. Their ratios are not simple fractions. If they were, small
  // changes of two words could cancel out.
  std::uint32_t factor = 0x7f4a7c15;
  std::uint64_t sum = 0;
  ((sum += words * factor, factor = (factor * 0x5e82ef95u + 0x3779b97au) & 0x7fffffff), ...);
  return sum;
}

template <typename... Words>
std::uint64_t mix_all(Words... words) {
  return mix(kHashSeed, sum_of(words...));
}

inline std::uint64_t hash_bytes(const char* bytes, std::size_t size) {
  std::uint64_t hash = mix(kHashSeed, size);
  while (size > 0) {
    std::uint64_t word = 0;
    const std::size_t part = size < 8 ? size : 8;
    __builtin_memcpy(&word, bytes, part);
    hash = mix(hash, word);
    bytes += part;
    size -= part;
  }
  return hash;
}

}  // namespace cudadiag::wire
