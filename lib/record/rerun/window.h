// Which operations a rerun waits for (wire/rerun/window.h). Set once at start, then read by all threads.
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

  // Returns false if the text is not valid. In this case, the rerun waits for no operations.
  bool read(std::string_view text);

  bool empty() const { return !all_ && used_ == 0 && nodes_used_ == 0; }
  // Whether the rerun waits for some site's first call, or for one close to it.
  bool from_the_start() const;
  std::uint32_t patience() const { return patience_; }  // ms
  // The Python hook becomes active this many calls before the first call of a site for which the rerun waits.
  std::uint32_t near() const { return near_; }
  // The number of the site's first call for which the rerun waits, or kNever.
  std::uint32_t armed_from(wire::site_key::Key site, wire::site_key::Key function) const;
  // Graph nodes to save before they run, the likeliest first.
  std::span<const wire::window::Node> nodes() const { return {nodes_.data(), nodes_used_}; }
  // The number of a site's first graph launch for which the rerun waits because of these nodes, or kNever.
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
