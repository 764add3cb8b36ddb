#include "record/rerun/window.h"

#include <algorithm>

namespace cudadiag::record {

bool Window::read(std::string_view text) {
  bool whole = true;
  const auto add_key = [&](wire::site_key::Key key, std::uint32_t from) {
    if (used_ == entries_.size()) whole = false;
    if (whole) entries_[used_++] = {key, std::max(from, 1u), from == 0};
  };
  const auto add_node = [&](const wire::window::Node& node) {
    if (nodes_used_ == nodes_.size()) whole = false;
    if (whole) nodes_[nodes_used_++] = node;
  };
  const bool readable = wire::window::parse(
      text, add_key, add_node, [&] { all_ = true; }, [&](std::uint32_t patience) { patience_ = patience; },
      [&](std::uint32_t calls) { near_ = calls; });
  if (readable && whole) return true;
  all_ = false;
  used_ = nodes_used_ = 0;
  return false;
}

bool Window::from_the_start() const {
  return all_ || std::any_of(entries_.begin(), entries_.begin() + used_,
                             [&](const Entry& entry) { return !entry.hooked && entry.from <= near_ + 1; });
}

// A linear search over the few keys is fast enough, because this is called only once per site.
std::uint32_t Window::armed_from(wire::site_key::Key site, wire::site_key::Key function) const {
  if (all_) return 1;
  std::uint32_t from = kNever;
  for (std::size_t i = 0; i < used_; ++i) {
    if (entries_[i].key != site && entries_[i].key != function) continue;
    from = from == kNever ? entries_[i].from : std::min(from, entries_[i].from);
  }
  return from;
}

std::uint32_t Window::nodes_from() const {
  std::uint32_t from = kNever;
  for (const wire::window::Node& node : nodes()) {
    from = from == kNever ? std::max(node.from, 1u) : std::min(from, std::max(node.from, 1u));
  }
  return from;
}

}  // namespace cudadiag::record
