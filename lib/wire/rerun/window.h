// The operations that a rerun waits for, as text in one environment variable. Items are separated by commas:
//
//    all                    every operation
//    KEY@FROM               operations of the sites or kernels with this key (16 hex digits, wire/rerun/site_key.h),
//                           from each site's FROM-th call on, in decimal
//    KEY@0                  all operations of a site while the Python hook is active; the key omits the native stack
//    node=INDEX/COUNT/KEY@FROM
//                           node INDEX (from 1) of a graph of COUNT nodes, a kernel with this key (0: no name). It is
//                           saved before it runs. The rerun waits for graph launches from their site's FROM-th call on
//    patience=MS            how long one operation may take before the rerun stops waiting altogether
//    near=CALLS             the Python hook becomes active this many calls before the first call that is waited for
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cudadiag::wire::window {

inline constexpr std::uint32_t kDefaultPatience = 5000;  // ms
inline constexpr std::size_t kMostKeys = 2048;
inline constexpr std::uint32_t kDefaultNear = 2;
inline constexpr std::size_t kMostNodes = 64;

struct Node {
  std::uint32_t index, count;
  std::uint64_t function;
  std::uint32_t from;
};

// Calls `visit_key(key, from)`, `visit_node(node)`, `visit_all()`, `visit_patience(ms)` and `visit_near(calls)`.
// Returns false at the first item that is not valid.
template <typename VisitKey, typename VisitNode, typename VisitAll, typename VisitPatience, typename VisitNear>
bool parse(std::string_view text, VisitKey visit_key, VisitNode visit_node, VisitAll visit_all,
           VisitPatience visit_patience, VisitNear visit_near) {
  // substr can throw, so it would pull the C++ runtime into the recorder.
  const auto from = [](std::string_view whole, std::size_t at) {
    return at < whole.size() ? std::string_view(whole.data() + at, whole.size() - at) : std::string_view();
  };
  const auto number = [](std::string_view digits, int base, auto& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    return error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  };
  // Returns the text of `rest` before the first `end`, and removes it from `rest` together with `end`.
  const auto part = [&](std::string_view& rest, char end) {
    const std::size_t at = rest.find(end);
    const std::string_view before(rest.data(), at == rest.npos ? rest.size() : at);
    rest = at == rest.npos ? std::string_view() : from(rest, at + 1);
    return before;
  };
  constexpr std::string_view kPatience = "patience=", kNear = "near=", kNode = "node=";
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item(text.data(), comma == text.npos ? text.size() : comma);
    text = from(text, item.size() + 1);
    const std::size_t at = item.find('@');
    std::uint64_t key = 0;
    std::uint32_t count = 0;
    if (item == "all") {
      visit_all();
    } else if (item.starts_with(kPatience)) {
      if (!number(from(item, kPatience.size()), 10, count)) return false;
      visit_patience(count);
    } else if (item.starts_with(kNode)) {
      std::string_view rest = from(item, kNode.size());
      Node node{};
      if (!number(part(rest, '/'), 10, node.index) || !number(part(rest, '/'), 10, node.count) ||
          !number(part(rest, '@'), 16, node.function) || !number(rest, 10, node.from)) {
        return false;
      }
      visit_node(node);
    } else if (item.starts_with(kNear)) {
      if (!number(from(item, kNear.size()), 10, count)) return false;
      visit_near(count);
    } else {
      if (at == item.npos || !number({item.data(), at}, 16, key) || !number(from(item, at + 1), 10, count))
        return false;
      visit_key(key, count);
    }
  }
  return true;
}

}  // namespace cudadiag::wire::window
