// Forms: numbers that are linear functions of a thread's coordinates, and the bytes that such numbers address. Internal
// to lib/sass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sass/launch_values.h"

namespace cudadiag::sass {

// A thread's coordinates are its index in the block, x to z, and then the block's index.
inline constexpr std::size_t kCoordinates = 6;
inline constexpr std::int64_t kMostOfForm = std::int64_t{1} << 60;  // results beyond this are unknown

// The threads whose coordinates are in these ranges, both ends included.
struct Box {
  std::array<std::uint32_t, kCoordinates> low{}, high{};
};

struct Form {
  std::int64_t base = 0;
  std::array<std::int64_t, kCoordinates> steps{};

  bool is_constant() const;
  bool operator==(const Form&) const = default;
};

Form constant(std::int64_t value);
Form coordinate(std::size_t which);

// These three functions return nullopt if the result is too large.
std::optional<Form> sum(const Form& a, const Form& b);
std::optional<Form> difference(const Form& a, const Form& b);
std::optional<Form> times(const Form& a, std::int64_t factor);
// These two functions compute with constants modulo 2^64, like the registers.
std::optional<Form> wrapped_sum(const Form& a, const Form& b);
std::optional<Form> wrapped_product(const Form& a, std::int64_t factor);
bool is_multiple(const Form& a, std::int64_t of);
// Divides, and rounds down.
std::int64_t divided_down(std::int64_t value, std::int64_t by);
// Returns whether the forms differ by a multiple of 2^32 for every thread.
bool same_low_word(const Form& a, const Form& b);

struct Range {
  std::int64_t least = 0, most = 0;
};
std::optional<Range> range_of(const Form& form, const Box& box);
// Replaces each coordinate that has only one value in the box with that value.
Form in_box(const Form& form, const Box& box);

// Where to cut a box, so that in each part the form is less than `at` for all threads or for none.
struct Cut {
  Form form;
  std::int64_t at = 0;
};
// Adds the parts to `out`. Returns false if `out` would have more than `most` boxes.
bool cut(const Box& box, const Cut& where, std::size_t most, std::vector<Box>& out);

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
