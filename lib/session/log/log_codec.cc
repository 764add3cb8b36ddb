#include "session/log/log_codec.h"

#include <bit>
#include <cstring>

namespace cudadiag::session {
namespace {

namespace operation = wire::operation;

// The order in which a record's words are encoded. The stream and the flags come first, because other words are
// predicted from them. Words that change often are next, which keeps the mask short. Words 2 and 3 are the ticks, which
// are encoded separately.
constexpr std::size_t kSerialWord = 0, kFlagsWord = 1, kTicksWord = 2, kOrdinalWord = 4, kSiteOrdinalWord = 5,
                      kStreamWord = 6;
constexpr std::array<std::uint8_t, 14> kOrder = {kStreamWord, kFlagsWord,       13, 14, 15, 7,  kOrdinalWord,
                                                 kSerialWord, kSiteOrdinalWord, 8,  9,  10, 11, 12};
static_assert(operation::kSerial.offset == 4 * kSerialWord && operation::kThread.offset == 4 * kFlagsWord + 2 &&
              operation::kTicks.offset == 4 * kTicksWord && operation::kOrdinal.offset == 4 * kOrdinalWord &&
              operation::kSiteOrdinal.offset == 4 * kSiteOrdinalWord &&
              operation::kStream.offset == 4 * kStreamWord + 2);

// Maps a small difference of either sign to a small unsigned number.
template <typename T>
T zigzag(T difference) {
  return (difference << 1) ^ (T{0} - (difference >> (8 * sizeof(T) - 1)));
}
template <typename T>
T unzigzag(T value) {
  return (value >> 1) ^ (T{0} - (value & 1));
}

constexpr std::uint8_t thread_of(std::uint32_t flags_word) { return static_cast<std::uint8_t>(flags_word >> 16); }
constexpr std::uint16_t stream_of(std::uint32_t stream_word) { return static_cast<std::uint16_t>(stream_word >> 16); }

}  // namespace

void append_number(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

LogModel::Words& LogModel::last(std::uint64_t key) {
  if (key >= last_.size()) last_.resize(key + 1);
  return last_[key];
}

void LogModel::expect_counts(const Words& last, Words& words) const {
  const bool seen = last[kFlagsWord] != 0;
  const std::size_t stream = stream_of(words[kStreamWord]);
  words[kOrdinalWord] = seen && last[kOrdinalWord] == 0 ? 0 : (stream < ordinals_.size() ? ordinals_[stream] : 0) + 1;
  words[kSiteOrdinalWord] = seen && last[kSiteOrdinalWord] == 0 ? 0 : last[kSiteOrdinalWord] + 1;
  words[kSerialWord] = static_cast<std::uint32_t>(serials_[thread_of(words[kFlagsWord])]) + 1;
}

void LogModel::remember(Words& last, const Words& words) {
  last = words;
  if (words[kOrdinalWord] != 0) {
    const std::size_t stream = stream_of(words[kStreamWord]);
    if (stream >= ordinals_.size()) ordinals_.resize(stream + 1);
    ordinals_[stream] = words[kOrdinalWord];
  }
  std::uint64_t& serial = serials_[thread_of(words[kFlagsWord])];
  serial += words[kSerialWord] - static_cast<std::uint32_t>(serial);
  serial_ = serial;
  std::memcpy(copy_.bytes.data(), words.data(), sizeof words);
  wire::store(copy_.bytes.data(), operation::kTicks, ticks_);
}

void LogModel::encode(const std::byte* record, std::string& out) {
  Words words;
  std::memcpy(words.data(), record, sizeof words);
  const std::uint64_t site = wire::load(record, operation::kSite);
  const std::uint64_t key = site != 0 ? site * 2 : wire::load(record, operation::kKind) * std::uint64_t{2} + 1;
  Words& before = last(key);
  Words expected = before;
  expected[kStreamWord] = words[kStreamWord];
  expected[kFlagsWord] = words[kFlagsWord];
  expect_counts(before, expected);
  expected[kStreamWord] = before[kStreamWord];
  expected[kFlagsWord] = before[kFlagsWord];

  const std::uint64_t ticks = wire::load(record, operation::kTicks);
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kOrder.size(); ++i) {
    if (words[kOrder[i]] != expected[kOrder[i]]) mask |= std::uint64_t{1} << i;
  }
  append_number(out, key);
  append_number(out, zigzag(ticks - ticks_));
  append_number(out, mask);
  for (std::size_t i = 0; i < kOrder.size(); ++i) {
    if (mask >> i & 1) append_number(out, zigzag(words[kOrder[i]] - expected[kOrder[i]]));
  }
  ticks_ = ticks;
  remember(before, words);
}

const std::uint8_t* LogModel::decode(std::uint64_t key, const std::uint8_t* from) {
  std::uint64_t ticks = 0, mask = 0, difference = 0;
  // Rejects impossible keys: sites have 16 bits, kinds have eight, and no record has kind 0.
  if (key < 2 || key >= 2 * 65536 || (key % 2 == 1 && key > 2 * 255 + 1)) return nullptr;
  if (!take_number(from, ticks) || !take_number(from, mask) || mask >> kOrder.size() != 0) return nullptr;
  Words& before = last(key);
  Words words = before;
  const auto take = [&](std::size_t word) {
    if (!take_number(from, difference) || difference >> 32 != 0) return false;
    words[word] += unzigzag(static_cast<std::uint32_t>(difference));
    return true;
  };
  if ((mask & 1) != 0 && !take(kStreamWord)) return nullptr;
  if ((mask & 2) != 0 && !take(kFlagsWord)) return nullptr;
  expect_counts(before, words);
  for (mask &= ~std::uint64_t{3}; mask != 0; mask &= mask - 1) {
    if (!take(kOrder[static_cast<std::size_t>(std::countr_zero(mask))])) return nullptr;
  }
  ticks_ += unzigzag(ticks);
  remember(before, words);
  return from;
}

}  // namespace cudadiag::session
