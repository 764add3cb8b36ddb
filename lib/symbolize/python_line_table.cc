// Maps a place in a code object's bytecode to the source line that a traceback would show for it.
#include <limits>
#include <optional>
#include <string_view>

#include "symbolize/symbolizer.h"
#include "wire/intern.h"

namespace cudadiag::symbolize {
namespace {

constexpr unsigned kLastLnotab = 9;    // CPython 3.9 and earlier
constexpr unsigned kRangeTable = 10;   // only CPython 3.10
constexpr std::int64_t kCodeUnit = 2;  // bytes per instruction or inline cache entry

// Reads the bytes of a table in order. Reads past the end return nullopt.
class TableBytes {
 public:
  explicit TableBytes(std::string_view bytes) : bytes_(bytes) {}

  bool at_end() const { return position_ == bytes_.size(); }
  std::uint8_t peek() const { return static_cast<std::uint8_t>(bytes_[position_]); }
  std::optional<std::uint8_t> next() {
    if (at_end()) return std::nullopt;
    return static_cast<std::uint8_t>(bytes_[position_++]);
  }

 private:
  std::string_view bytes_;
  std::size_t position_ = 0;
};

std::int64_t as_signed(std::uint8_t byte) { return static_cast<std::int8_t>(byte); }

int checked_line(std::int64_t line) {
  return line > 0 && line <= std::numeric_limits<int>::max() ? static_cast<int>(line) : 0;
}

// The table consists of pairs (bytecode advance, line advance). The new line starts after the bytecode advance.
int line_in_lnotab(const session::Code& code, std::int64_t offset) {
  TableBytes table(code.line_table);
  std::int64_t line = code.first_line, start = 0;
  while (!table.at_end()) {
    start += *table.next();
    if (start > offset) return checked_line(line);
    const auto delta = table.next();
    if (!delta) break;
    line += as_signed(*delta);
  }
  // The last line extends to the end of the code. If the recorder truncated the table, the line is unknown.
  return code.line_table.size() < wire::intern::kLongestLineTable ? checked_line(line) : 0;
}

// The table consists of pairs (length of a range in bytes, line advance). -128 marks a range without a line.
int line_in_ranges(const session::Code& code, std::int64_t offset) {
  constexpr std::int64_t kNoLine = -128;
  TableBytes table(code.line_table);
  std::int64_t line = code.first_line, end = 0;
  while (const auto length = table.next()) {
    const auto delta = table.next();
    if (!delta) return 0;
    const bool has_line = as_signed(*delta) != kNoLine;
    if (has_line) line += as_signed(*delta);
    end += *length;
    if (offset < end) return has_line ? checked_line(line) : 0;
  }
  return 0;
}

// Six bits per byte, least significant first; bit 6 is set if more bytes follow. The lowest bit of the result is the
// sign. Returns nullopt if the table ends within the number.
std::optional<std::int64_t> signed_varint(TableBytes& table) {
  constexpr unsigned kMaxShift = 30;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift <= kMaxShift; shift += 6) {
    const auto byte = table.next();
    if (!byte) return std::nullopt;
    value |= std::uint64_t{*byte & 0x3fu} << shift;
    if (!(*byte & 0x40)) break;
  }
  const auto magnitude = static_cast<std::int64_t>(value >> 1);
  return value & 1 ? -magnitude : magnitude;
}

// Each entry is a byte 1kkkklll (kind, length in code units - 1), then bytes with a clear top bit.
int line_in_locations(const session::Code& code, std::int64_t offset) {
  enum Kind : unsigned { one_line_0 = 10, one_line_2 = 12, no_columns = 13, long_form = 14, no_location = 15 };
  TableBytes table(code.line_table);
  std::int64_t line = code.first_line, end = 0;
  while (const auto first = table.next()) {
    const unsigned kind = (*first >> 3) & 15u;
    if (kind == no_columns || kind == long_form) {
      const auto step = signed_varint(table);
      if (!step) return 0;
      line += *step;
    }
    if (kind >= one_line_0 && kind <= one_line_2) line += kind - one_line_0;
    end += ((*first & 7) + 1) * kCodeUnit;
    if (offset < end) return kind == no_location ? 0 : checked_line(line);
    while (!table.at_end() && !(table.peek() & 0x80)) table.next();
  }
  return 0;
}

}  // namespace

int python_line(const session::Code& code, std::uint32_t offset) {
  if (static_cast<std::int32_t>(offset) < 0) return checked_line(code.first_line);
  if (code.python_minor <= kLastLnotab) return line_in_lnotab(code, offset);
  if (code.python_minor == kRangeTable) return line_in_ranges(code, offset);
  return line_in_locations(code, offset);
}

}  // namespace cudadiag::symbolize
