// Numbers that depend on the thread: sums of its coordinates, each times a constant. Internal to the room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cudadiag::sass {

// Coordinates of a thread: its number in the block, x to z, then the block's number.
inline constexpr std::size_t kCoordinates = 6;
inline constexpr std::int64_t kMostOfForm = std::int64_t{1} << 60;  // a value beyond is not kept

// Threads whose coordinates are in these ranges, ends included.
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

// Nothing: it could be out of bounds.
std::optional<Form> sum(const Form& a, const Form& b);
std::optional<Form> times(const Form& a, std::int64_t factor);
// Whether both and their steps are multiples of it.
bool is_multiple(const Form& a, std::int64_t of);
// Whether they differ by a multiple of 2^32 for every thread.
bool same_low_word(const Form& a, const Form& b);

struct Range {
  std::int64_t least = 0, most = 0;
};
// Nothing: out of bounds.
std::optional<Range> range_of(const Form& form, const Box& box);
// Coordinates of which there is one are numbers.
Form in_box(const Form& form, const Box& box);

// Where a box has to be cut for the form to be less than `at` for all its threads or for none.
struct Cut {
  Form form;
  std::int64_t at = 0;
};
// Adds the parts to `out`. False: there would be more than `most` boxes in it.
bool cut(const Box& box, const Cut& where, std::size_t most, std::vector<Box>& out);

}  // namespace cudadiag::sass
