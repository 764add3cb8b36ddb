// A bounds-checked view of a part of an untrusted dump. Bytes past the end read as zero. Fields that an older driver
// does not write therefore read as zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cudadiag::evidence {

// Numbers are little-endian, because all GPUs and their hosts are.
class Bytes {
 public:
  static constexpr std::size_t kLongestText = 64u << 10;  // mangled names of large templates stay below this

  Bytes() = default;
  Bytes(const void* data, std::size_t size) : data_(static_cast<const char*>(data)), size_(size) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool holds(std::uint64_t offset, std::uint64_t size) const { return offset <= size_ && size <= size_ - offset; }

  std::uint8_t u8(std::uint64_t offset) const { return number<std::uint8_t>(offset); }
  std::uint16_t u16(std::uint64_t offset) const { return number<std::uint16_t>(offset); }
  std::uint32_t u32(std::uint64_t offset) const { return number<std::uint32_t>(offset); }
  std::uint64_t u64(std::uint64_t offset) const { return number<std::uint64_t>(offset); }

  Bytes slice(std::uint64_t offset, std::uint64_t size) const {
    if (offset >= size_) return {};
    return {data_ + offset, size < size_ - offset ? static_cast<std::size_t>(size) : size_ - offset};
  }

  std::string_view all() const { return {data_, size_}; }

  // Returns the NUL-terminated text at `offset`; empty if its first kLongestText bytes contain no NUL.
  std::string_view text(std::uint64_t offset) const {
    const Bytes rest = slice(offset, kLongestText);
    const void* zero = rest.empty() ? nullptr : std::memchr(rest.data_, 0, rest.size_);
    if (zero == nullptr) return {};
    return {rest.data_, static_cast<std::size_t>(static_cast<const char*>(zero) - rest.data_)};
  }
  // Returns whether text(offset) equals `expected`, without searching for the NUL.
  bool has_text(std::uint64_t offset, std::string_view expected) const {
    return holds(offset, expected.size() + 1) && std::memcmp(data_ + offset, expected.data(), expected.size()) == 0 &&
           data_[offset + expected.size()] == 0;
  }

 private:
  template <typename T>
  T number(std::uint64_t offset) const {
    T value = 0;
    if (holds(offset, sizeof value)) std::memcpy(&value, data_ + offset, sizeof value);
    return value;
  }

  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cudadiag::evidence
