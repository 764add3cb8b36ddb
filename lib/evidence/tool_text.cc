#include "evidence/tool_text.h"

#include <charconv>
#include <system_error>

#include "base/text.h"

namespace cudadiag::evidence {
namespace {

template <typename Number>
bool take_number(std::string_view& text, Number& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string taken_part(std::string_view text) {
  return std::string(base::trimmed(text, " \r").substr(0, kLongestPart));
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

std::optional<std::uint64_t> take_address(std::string_view& text) {
  std::uint64_t address = 0;
  return take(text, "0x") && take_number(text, address, 16) ? std::optional(address) : std::nullopt;
}

std::optional<Dim3> take_dimensions(std::string_view& text) {
  Dim3 found{};
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!take(text, i == 0 ? "(" : ",") || !take_number(text, found[i], 10)) return std::nullopt;
  }
  return take(text, ")") ? std::optional(found) : std::nullopt;
}

}  // namespace cudadiag::evidence
