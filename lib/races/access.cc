#include "races/access.h"

#include <algorithm>

namespace cudadiag::races {

namespace {

bool row_meets(const Access& rows, std::uint64_t begin, std::uint64_t end) {
  if (end <= rows.begin || begin >= rows.end()) return false;
  if (rows.rows == 1 || rows.pitch == 0) return true;
  // The first row that ends after `begin`.
  const std::uint64_t first = begin < rows.begin + rows.width ? 0 : (begin - rows.begin - rows.width) / rows.pitch + 1;
  return first < rows.rows && rows.begin + first * rows.pitch < end;
}

// Returns whether any of the rows overlap. Both accesses have the same pitch, so only the two nearest rows need to be
// compared.
bool rows_meet(const Access& a, const Access& b) {
  const auto pitch = static_cast<std::int64_t>(a.pitch), apart = static_cast<std::int64_t>(b.begin - a.begin);
  const std::int64_t fewest = -(std::int64_t{b.rows} - 1), most = std::int64_t{a.rows} - 1;
  const std::int64_t below = apart >= 0 ? apart / pitch : -((-apart + pitch - 1) / pitch);
  for (std::int64_t rows : {below, below + 1}) {
    rows = std::clamp(rows, fewest, most);
    const std::int64_t from = apart - rows * pitch;  // distance from a row of `a` to a row of `b`
    if (from < static_cast<std::int64_t>(a.width) && -from < static_cast<std::int64_t>(b.width)) return true;
  }
  return false;
}

bool covers(const Access& whole, const Access& part) {
  if (!whole.exact || whole.begin > part.begin || whole.end() < part.end()) return false;
  if (whole.rows == 1 || whole.pitch == 0) return true;
  if (part.rows > 1 && part.pitch != whole.pitch) return false;
  return (part.begin - whole.begin) % whole.pitch + part.width <= whole.width;
}

}  // namespace

bool touches(const Access& a, const Access& b) {
  if (a.somewhere || b.somewhere) return a.somewhere ? covers(b, a) : covers(a, b);
  const Access& few = a.rows <= b.rows ? a : b;
  const Access& many = a.rows <= b.rows ? b : a;
  if (few.end() <= many.begin || many.end() <= few.begin) return false;
  if (few.rows > 1 && few.pitch == many.pitch && few.pitch != 0) return rows_meet(few, many);
  constexpr std::uint32_t kMostRows = 1u << 16;
  if (few.rows > kMostRows) return true;
  for (std::uint32_t row = 0; row < few.rows; ++row) {
    const std::uint64_t begin = few.begin + row * few.pitch;
    if (row_meets(many, begin, begin + few.width)) return true;
  }
  return false;
}

Access with_place(Access access, std::uint64_t address, const Extent& extent, Mode mode) {
  const auto& [pitch, bytes, width, rows] = extent;
  access.begin = address;
  access.mode = mode;
  access.exact = bytes != 0 && rows != 0;
  access.rows = rows == 0 ? 1 : rows;
  access.pitch = rows > 1 ? pitch : 0;
  access.width = !access.exact ? 1 : rows > 1 ? width : bytes;
  if (access.rows > 1 && access.pitch <= access.width) {
    access.width = access.pitch * (access.rows - 1) + access.width;
    access.rows = 1;
  }
  // Treats impossibly large sizes as unknown, because sums with them could wrap around.
  const bool sane = access.width < std::uint64_t{1} << 46 && access.pitch < std::uint64_t{1} << 40;
  if (!sane) access.width = 1, access.rows = 1, access.pitch = 0, access.exact = false;
  return access;
}

}  // namespace cudadiag::races
