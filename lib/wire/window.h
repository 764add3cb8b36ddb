// What a rerun waits for, as text in one environment variable. Items are separated by commas:
//
//    all                    every operation
//    KEY@FROM               operations of the sites or kernels with this key (16 hex digits, wire/site_key.h), each
//                           site's from its FROM-th call on, in decimal
//    patience=MS            how long one operation may take before waiting is given up for good
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace cudadiag::wire::window {

inline constexpr std::uint32_t kDefaultPatience = 5000;  // ms
inline constexpr std::size_t kMostKeys = 2048;

// Calls `visit_key(key, from)`, `visit_all()` and `visit_patience(ms)`; false at the first item that is none of these.
template <typename VisitKey, typename VisitAll, typename VisitPatience>
bool parse(std::string_view text, VisitKey visit_key, VisitAll visit_all, VisitPatience visit_patience) {
  const auto number = [](std::string_view digits, int base, auto& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    return error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  };
  constexpr std::string_view kPatience = "patience=";
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(item.size() < text.size() ? item.size() + 1 : item.size());
    if (item == "all") {
      visit_all();
      continue;
    }
    std::uint32_t count = 0;
    if (item.substr(0, kPatience.size()) == kPatience) {
      if (!number(item.substr(kPatience.size()), 10, count)) return false;
      visit_patience(count);
      continue;
    }
    std::uint64_t key = 0;
    const std::size_t at = item.find('@');
    if (at == item.npos || !number(item.substr(0, at), 16, key) || !number(item.substr(at + 1), 10, count))
      return false;
    visit_key(key, count);
  }
  return true;
}

}  // namespace cudadiag::wire::window
