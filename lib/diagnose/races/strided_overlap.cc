#include "diagnose/races/strided_overlap.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <tuple>

namespace cudadiag::diagnose {
namespace {

constexpr std::uint64_t kMostPieces = 1u << 20;  // limit for the tensor that has fewer pieces
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
constexpr std::size_t kMostDimensions = 16;

// Returns the size of an element: 4 for "float32", 2 for "bfloat16", 1 for "bool" and "float8_e4m3fn"; 0 if unknown.
std::uint64_t element_bytes(std::string_view type) {
  if (type == "bool") return 1;
  const std::size_t at = type.find_first_of("0123456789");
  if (at == type.npos) return 0;
  unsigned bits = 0;
  std::from_chars(type.data() + at, type.data() + type.size(), bits);
  return bits % 8 == 0 ? bits / 8 : 0;
}

std::uint64_t pieces(const StridedBytes& bytes) {
  std::uint64_t count = 1;
  for (const auto& dimension : bytes.dimensions) count *= dimension.count;
  return count;
}

// Counts the bytes of the `depth` innermost dimensions, placed at `begin`, that are in [first, last).
std::uint64_t count_in(const StridedBytes& bytes, std::uint64_t begin, std::size_t depth, std::uint64_t first,
                       std::uint64_t last) {
  if (depth == 0) {
    const std::uint64_t low = std::max(begin, first), high = std::min(begin + bytes.width, last);
    return high > low ? high - low : 0;
  }
  const auto [count, pitch] = bytes.dimensions[depth - 1];
  std::uint64_t span = bytes.width, whole = bytes.width;
  for (std::size_t i = 0; i + 1 < depth; ++i) {
    span += (bytes.dimensions[i].count - 1) * bytes.dimensions[i].pitch;
    whole *= bytes.dimensions[i].count;
  }
  // The parts of this dimension do not overlap. A part at an edge of the range may be only partly inside the range.
  if (last <= begin) return 0;
  const std::uint64_t from = first > begin ? std::min((first - begin) / pitch, count) : 0;
  const std::uint64_t to = std::min((last - begin - 1) / pitch + 1, count);  // end of the parts that begin in range
  std::uint64_t found = 0;
  for (std::uint64_t part = from; part < to; ++part) {
    const std::uint64_t at = begin + part * pitch;
    if (at >= first && at + span <= last) {
      // All parts that follow are in the range too, except possibly the last one.
      const std::uint64_t inside = std::max(part + 1, to - 1) - part;
      found += inside * whole;
      part += inside - 1;
      continue;
    }
    found += count_in(bytes, at, depth - 1, first, last);
  }
  return found;
}

std::uint64_t count_in(const StridedBytes& bytes, std::uint64_t first, std::uint64_t last) {
  return count_in(bytes, bytes.begin, bytes.dimensions.size(), first, last);
}

// first_in() returns the address of the first byte of `bytes` that is in [first, last). end_in() returns the address
// after the last of these bytes. At least one of the bytes must be in the range.
std::uint64_t first_in(const StridedBytes& bytes, std::uint64_t first, std::uint64_t last) {
  std::uint64_t none_before = first, one_before = last;
  while (one_before - none_before > 1) {
    const std::uint64_t middle = none_before + (one_before - none_before) / 2;
    (count_in(bytes, first, middle) > 0 ? one_before : none_before) = middle;
  }
  return one_before - 1;
}

std::uint64_t end_in(const StridedBytes& bytes, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t all = count_in(bytes, first, last);
  std::uint64_t too_few = first, enough = last;
  while (enough - too_few > 1) {
    const std::uint64_t middle = too_few + (enough - too_few) / 2;
    (count_in(bytes, first, middle) == all ? enough : too_few) = middle;
  }
  return enough;
}

// Calls `visit` with the address of each piece, in ascending order.
template <typename Visit>
void each_piece(const StridedBytes& bytes, std::uint64_t begin, std::size_t depth, const Visit& visit) {
  if (depth == 0) return visit(begin);
  const auto [count, pitch] = bytes.dimensions[depth - 1];
  for (std::uint64_t i = 0; i < count; ++i) each_piece(bytes, begin + i * pitch, depth - 1, visit);
}

}  // namespace

std::uint64_t StridedBytes::end() const {
  std::uint64_t end = begin + width;
  for (const Dimension& dimension : dimensions) end += (dimension.count - 1) * dimension.pitch;
  return end;
}

std::optional<StridedBytes> strided_bytes(const RaceTensor& tensor) {
  const std::uint64_t element = element_bytes(tensor.dtype);
  if (element == 0 || tensor.shape.size() != tensor.strides.size() || tensor.shape.size() > kMostDimensions)
    return std::nullopt;
  StridedBytes bytes{tensor.begin, element, {}};
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const std::int64_t count = tensor.shape[i], stride = tensor.strides[i];
    if (count < 1 || stride < 0) return std::nullopt;
    if (count == 1 || stride == 0) continue;  // an expanded dimension repeats the same bytes
    const auto wide = static_cast<std::uint64_t>(count), pitch = static_cast<std::uint64_t>(stride) * element;
    if (wide > kMostBytes || pitch > kMostBytes / wide) return std::nullopt;
    bytes.dimensions.push_back({wide, pitch});
  }
  std::sort(bytes.dimensions.begin(), bytes.dimensions.end(),
            [](const auto& a, const auto& b) { return std::tie(a.pitch, a.count) < std::tie(b.pitch, b.count); });
  std::vector<StridedBytes::Dimension> merged;
  for (const StridedBytes::Dimension& dimension : bytes.dimensions) {
    if (merged.empty() && dimension.pitch == bytes.width) {
      bytes.width *= dimension.count;
    } else if (!merged.empty() && dimension.pitch == merged.back().pitch * merged.back().count) {
      merged.back().count *= dimension.count;
    } else {
      // The parts of this dimension overlap, as the windows of unfold() do.
      if (dimension.pitch < StridedBytes{0, bytes.width, merged}.end()) return std::nullopt;
      merged.push_back(dimension);
    }
  }
  bytes.dimensions = std::move(merged);
  return bytes;
}

std::optional<RaceOverlap> overlap(const StridedBytes& a, const StridedBytes& b) {
  const StridedBytes &few = pieces(a) <= pieces(b) ? a : b, &many = &few == &a ? b : a;
  if (pieces(few) > kMostPieces) return std::nullopt;
  RaceOverlap found;
  each_piece(few, few.begin, few.dimensions.size(), [&](std::uint64_t begin) {
    const std::uint64_t end = begin + few.width, bytes = count_in(many, begin, end);
    if (bytes == 0) return;
    if (found.bytes == 0) found.begin = first_in(many, begin, end);
    found.end = end_in(many, begin, end);
    found.bytes += bytes;
  });
  return found;
}

}  // namespace cudadiag::diagnose
