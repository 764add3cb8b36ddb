// Writes pickles in the format of PyTorch's C++ pickler, including damaged ones.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace cudadiag::test {

class PickleBuilder {
 public:
  PickleBuilder& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  PickleBuilder& integer(std::int64_t value) {
    if (value >= 0 && value < 0x100) return raw("K").little(value, 1);
    if (value >= 0 && value < 0x10000) return raw("M").little(value, 2);
    if (value == static_cast<std::int32_t>(value)) return raw("J").little(value, 4);
    return raw("\x8a\x08").little(value, 8);
  }
  // Writes a text in full only once. Later uses refer to the first.
  PickleBuilder& text(const std::string& value) {
    const auto [known, is_new] = texts_.emplace(value, stored_);
    if (!is_new) return recall(known->second);
    return raw("X").little(static_cast<std::int64_t>(value.size()), 4).raw(value).store();
  }
  PickleBuilder& store() {
    stored_ < 256 ? raw("q").little(stored_, 1) : raw("r").little(stored_, 4);
    ++stored_;
    return *this;
  }
  PickleBuilder& recall(std::uint32_t number) {
    return number < 256 ? raw("h").little(number, 1) : raw("j").little(number, 4);
  }
  PickleBuilder& open_dictionary() { return raw("}("); }
  PickleBuilder& close_dictionary() { return raw("u"); }
  PickleBuilder& open_list() { return raw("]("); }
  PickleBuilder& close_list() { return raw("e"); }
  PickleBuilder& texts(std::string_view key, const std::string& value) { return text(std::string(key)).text(value); }
  PickleBuilder& number(std::string_view key, std::int64_t value) { return text(std::string(key)).integer(value); }

  std::string bytes() const { return "\x80\x02" + bytes_ + "."; }

 private:
  PickleBuilder& little(std::int64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
    return *this;
  }

  std::string bytes_;
  std::map<std::string, std::uint32_t> texts_;
  std::uint32_t stored_ = 0;
};

}  // namespace cudadiag::test
