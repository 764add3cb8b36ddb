// Which operations a rerun waits for (wire/rerun.h). Set once at start, then read by all threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/rerun.h"
#include "wire/site_key.h"

namespace cudadiag::record {

class Window {
 public:
  static constexpr std::uint32_t kNever = 0;

  // Returns false if the text is invalid. The rerun then waits for no operations.
  bool read(std::string_view text);

  bool empty() const { return !all_ && used_ == 0 && nodes_used_ == 0; }
  // Returns true if the rerun waits for a site's first call, or for a call close to it.
  bool from_the_start() const;
  std::uint32_t patience() const { return patience_; }  // ms
  // The Python hook becomes active this many calls before the first call that the rerun waits for.
  std::uint32_t near() const { return near_; }
  // Returns the number of the first call at the site that the rerun waits for, or kNever.
  std::uint32_t armed_from(wire::site_key::Key site, wire::site_key::Key function) const;
  // Returns the graph nodes to save before they run, the one that most likely failed first.
  std::span<const wire::window::Node> nodes() const { return {nodes_.data(), nodes_used_}; }
  // Returns the number of the first graph launch at a site from which nodes may be saved; kNever if there are no nodes
  // to save.
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
