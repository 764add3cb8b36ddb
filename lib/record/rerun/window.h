// Which operations a rerun waits for (wire/rerun/window.h). Filled once at start, read by all threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/rerun/site_key.h"
#include "wire/rerun/window.h"

namespace cudadiag::record {

class Window {
 public:
  static constexpr std::uint32_t kNever = 0;

  // False: the text is not valid, and nothing is waited for.
  bool read(std::string_view text);

  bool empty() const { return !all_ && used_ == 0 && nodes_used_ == 0; }
  // Whether some first call of a site is waited for, or nearly.
  bool from_the_start() const;
  std::uint32_t patience() const { return patience_; }  // ms
  // The Python hook begins this many calls before a site's first one that is waited for.
  std::uint32_t near() const { return near_; }
  // From which call of a site on its operations are waited for; kNever.
  std::uint32_t armed_from(wire::site_key::Key site, wire::site_key::Key function) const;
  // Nodes of graphs that are saved before they run, the likeliest first.
  std::span<const wire::window::Node> nodes() const { return {nodes_.data(), nodes_used_}; }
  // From which call of a site on launches of graphs are waited for, for the sake of these nodes; kNever.
  std::uint32_t nodes_from() const;

 private:
  struct Entry {
    wire::site_key::Key key;
    std::uint32_t from;
    bool hooked;
  };
  bool all_ = false;
  std::uint32_t patience_ = wire::window::kDefaultPatience, near_ = wire::window::kDefaultNear;
  std::size_t used_ = 0;
  std::array<Entry, wire::window::kMostKeys> entries_;
  std::size_t nodes_used_ = 0;
  std::array<wire::window::Node, wire::window::kMostNodes> nodes_;
};

}  // namespace cudadiag::record
