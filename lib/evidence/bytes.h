// Reads the bytes of an untrusted dump: a bounds-checked view of a part, a cursor, and a budget. Bytes past the end
// read as zero. Fields that an older driver does not write therefore read as zero.
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

// Reads a piece of a dump sequentially. Reads past its end return 0.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}

  bool done() const { return at_ >= bytes_.size(); }
  std::uint64_t at() const { return at_; }
  void seek(std::uint64_t at) { at_ = at < bytes_.size() ? at : bytes_.size(); }
  void skip(std::uint64_t count) { seek(count < bytes_.size() - at_ ? at_ + count : bytes_.size()); }

  std::uint8_t u8() { return next(bytes_.u8(at_), 1); }
  std::uint16_t u16() { return next(bytes_.u16(at_), 2); }
  std::uint32_t u32() { return next(bytes_.u32(at_), 4); }
  std::uint64_t u64() { return next(bytes_.u64(at_), 8); }

  // LEB128: groups of seven bits, least significant first. Drops bits beyond 64.
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !done(); shift += 7) {
      const std::uint8_t byte = u8();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !done();) {
      const std::uint8_t byte = u8();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      break;
    }
    return static_cast<std::int64_t>(value);
  }

  // Returns the text up to the next NUL, and skips that NUL.
  std::string_view text() {
    const std::string_view text = bytes_.text(at_);
    skip(text.size() + 1);
    return text;
  }

 private:
  template <typename T>
  T next(T value, std::uint64_t size) {
    skip(size);
    return value;
  }

  Bytes bytes_;
  std::uint64_t at_ = 0;
};

// Counts the invalid parts of a dump, and limits the total number of bytes read from sections to the size of the file.
// Sections of a valid dump do not overlap, so this is enough. In a crafted dump, a million sections could refer to the
// same bytes.
class Budget {
 public:
  explicit Budget(std::uint64_t bytes) : left_(bytes) {}

  // If fewer than `bytes` bytes are left, counts this as damage and returns false.
  bool take(std::uint64_t bytes) {
    if (bytes > left_) return damage(), false;
    left_ -= bytes;
    return true;
  }
  void damage() { ++damaged_; }
  std::uint64_t damaged() const { return damaged_; }

 private:
  std::uint64_t left_;
  std::uint64_t damaged_ = 0;
};

}  // namespace cudadiag::evidence
