// Collects the bytes that many threads use as regular patterns. Internal to lib/sass.
#pragma once

#include <cstdint>
#include <vector>

#include "sass/byte_ranges.h"
#include "sass/threads/forms.h"

namespace cudadiag::sass {

// The exact bytes that all threads of some boxes use, as equal pieces at regular distances in several dimensions.
class Lattices {
 public:
  // Returns false if there are too many separate pieces.
  bool add(const Form& first_byte, std::uint32_t width, const Box& box);
  // Returns at most `most` rows; nullopt if there are more.
  std::optional<std::vector<ByteRows>> rows(std::size_t most) const;

 private:
  struct Level {
    std::int64_t step = 0, count = 0;
    bool operator==(const Level&) const = default;
  };
  struct Lattice {
    std::int64_t begin = 0, width = 0;
    std::vector<Level> levels;  // sorted by step
  };

  static void fold(Lattice& lattice);
  static bool join(Lattice& to, const Lattice& other);
  static bool join_side_by_side(Lattice& to, const Lattice& other);
  static bool join_in_a_row(Lattice& to, const Lattice& other);
  static void join_all(std::vector<Lattice>& all);
  static bool expand(std::vector<Lattice>& all, std::size_t most);
  static void make_rows(std::vector<Lattice>& all);

  static constexpr std::size_t kMost = 512, kLatest = 12;
  std::vector<Lattice> all_;
};

}  // namespace cudadiag::sass
