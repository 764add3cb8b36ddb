// Reads a piece of a dump sequentially. Reads past its end return 0.
#pragma once

#include <string_view>

#include "evidence/bytes.h"

namespace cudadiag::evidence {

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

}  // namespace cudadiag::evidence
