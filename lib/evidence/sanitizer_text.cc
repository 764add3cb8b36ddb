// Reads the text that compute-sanitizer prints.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "evidence/tool_text.h"

namespace cudadiag::evidence {
namespace {

constexpr std::string_view kPrefix = "=========";

constexpr std::string_view kMargin = " \r";

// Takes "4,194,304" or "4194304" from the start of `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::string digits;
  while (!text.empty() && (text.front() == ',' || (text.front() >= '0' && text.front() <= '9'))) {
    if (text.front() != ',') digits += text.front();
    text.remove_prefix(1);
  }
  return base::whole_number<std::uint64_t>(digits);
}

struct Place {
  std::string function, file;
  std::uint64_t offset = 0;
  std::uint32_t line = 0;
};

// Reads "FILE:LINE".
bool read_line(std::string_view text, Place& place) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const auto line = base::whole_number<std::uint32_t>(base::trimmed(text.substr(colon + 1), kMargin));
  if (!line) return false;
  place.file = taken_part(text.substr(0, colon));
  place.line = *line;
  return true;
}

// Reads "FILE:LINE:FUNCTION", or only a function. A function name may contain colons, but a file name rarely does.
void read_old_place(std::string_view text, Place& place) {
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    const std::size_t end = text.find(':', colon + 1);
    if (end == std::string_view::npos || !read_line(text.substr(0, end), place)) continue;
    place.function = taken_part(text.substr(end + 1));
    return;
  }
  place.function = taken_part(text);
}

// Parses the text after "at " or "Device Frame:".
Place place_of(std::string_view text) {
  Place place;
  text = base::trimmed(text, kMargin);
  if (text.starts_with("0x")) {
    place.offset = take_address(text).value_or(0);
    if (take(text, " in ")) read_old_place(text, place);
    return place;
  }
  if (const std::size_t bracket = text.rfind(" [0x"); bracket != std::string_view::npos && text.ends_with(']')) {
    std::string_view offset = text.substr(bracket + 2);
    place.offset = take_address(offset).value_or(0);
    read_old_place(text.substr(0, bracket), place);
    return place;
  }
  const std::size_t plus = text.rfind("+0x");
  if (plus == std::string_view::npos) {
    place.function = taken_part(text);
    return place;
  }
  place.function = taken_part(text.substr(0, plus));
  text.remove_prefix(plus + 1);
  place.offset = take_address(text).value_or(0);
  if (take(text, " in ")) read_line(text, place);
  return place;
}

class SanitizerReader {
 public:
  SanitizerLog read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      const bool whole = end < text.size();
      text.remove_prefix(std::min(text.size(), end + 1));
      if (whole && line.size() <= 4 * kLongestPart && take(line, kPrefix)) read_content(base::trimmed(line, kMargin));
    }
    end_record();
    return std::move(log_);
  }

 private:
  void read_content(std::string_view line) {
    if (line.empty() || line.starts_with("Saved host backtrace")) return end_record();
    if (line.starts_with("Host Frame")) return;
    if (take(line, "ERROR SUMMARY: ")) {
      log_.errors = take_number(line);
    } else if (line.starts_with("Error: ") || line.starts_with("Internal Sanitizer Error")) {
      if (log_.complaint.empty()) log_.complaint = taken_part(line);
    } else if (take(line, "at ")) {
      if (open_) access_place(place_of(line));
    } else if (take(line, "by thread ")) {
      read_thread(line);
    } else if (take(line, "Access to ") || take(line, "Access at ") || take(line, "Address ")) {
      read_address(line);
    } else if (take(line, "and is ")) {
      read_nearest(line);
    } else if (take(line, "Device Frame:")) {
      // Frames come innermost first, so the last frame is the kernel.
      if (open_) access_.kernel = place_of(line).function;
    } else {
      end_record();
      begin_record(line);
    }
  }

  // Reads "Invalid __global__ write of size 4 bytes".
  void begin_record(std::string_view line) {
    open_ = true;
    access_.headline = taken_part(line);
    if (!take(line, "Invalid __")) return;
    const std::size_t space = line.find("__ "), of = line.find(" of size ");
    if (space == std::string_view::npos || of == std::string_view::npos || of < space + 3) return;
    std::string_view size = line.substr(of + 9);
    const auto bytes = take_number(size);
    if (!bytes) return;
    access_.space = taken_part(line.substr(0, space));
    access_.mode = taken_part(line.substr(space + 3, of - space - 3));
    access_.bytes = *bytes;
  }

  void access_place(Place place) {
    access_.function = std::move(place.function);
    access_.offset = place.offset;
    access_.file = std::move(place.file);
    access_.line = place.line;
  }

  void read_thread(std::string_view line) {
    const auto thread = take_dimensions(line);
    if (!thread || !take(line, " in block ")) return;
    const auto block = take_dimensions(line);
    if (!block) return;
    access_.thread = *thread;
    access_.block = *block;
    placed_ = true;
  }

  void read_address(std::string_view line) {
    access_.address = take_address(line);
    if (take(line, " is ")) access_.problem = taken_part(line);
  }

  // Reads "13 bytes after the nearest allocation at 0x7f0000000000 of size 4,096 bytes".
  void read_nearest(std::string_view line) {
    const std::size_t at = line.find("nearest allocation at ");
    if (at == std::string_view::npos) return;
    line.remove_prefix(at + 22);
    const auto address = take_address(line);
    if (!address || !take(line, " of size ")) return;
    if (const auto bytes = take_number(line)) access_.nearest = {*address, *bytes};
  }

  void end_record() {
    if (open_ && placed_ && !access_.function.empty() && log_.accesses.size() < kMostAccesses) {
      if (access_.kernel.empty()) access_.kernel = access_.function;
      log_.accesses.push_back(std::move(access_));
    }
    access_ = {};
    open_ = placed_ = false;
  }

  SanitizerLog log_;
  InvalidAccess access_;
  bool open_ = false;    // a record is being read
  bool placed_ = false;  // the record's thread and block are known
};

std::string bytes_of(std::uint64_t count) { return base::thousands(count) + (count == 1 ? " byte" : " bytes"); }

std::string hexadecimal(std::uint64_t value) { return fmt::format("{:#x}", value); }

// Describes where the accessed bytes are relative to the allocation. Does not use the distance in the log, because
// different releases of the tool compute it differently.
std::string relation(const InvalidAccess& access) {
  const auto [begin, size] = *access.nearest;
  const std::uint64_t at = *access.address;
  const std::string it = base::thousands(size) + "-byte allocation at " + hexadecimal(begin);
  const bool ends = begin <= std::numeric_limits<std::uint64_t>::max() - size;
  if (at < begin) return bytes_of(begin - at) + " before the " + it;
  if (!ends || at - begin < size) {
    const bool over = ends && access.bytes > size - (at - begin);
    return (over ? "reaching past the end of the " : "inside the ") + it;
  }
  const std::uint64_t past = at - begin - size;
  return past == 0 ? "right after the " + it : bytes_of(past) + " past the " + it;
}

}  // namespace

SanitizerLog sanitizer_log(std::string_view text) { return SanitizerReader().read(text); }

std::string sentence(const InvalidAccess& access) {
  if (access.mode.empty()) return access.headline;
  const std::string space = access.space == "global" ? "" : " of " + access.space + " memory";
  std::string text = std::to_string(access.bytes) + "-byte " + access.mode + space;
  if (!access.address) return text;
  text += " at " + hexadecimal(*access.address);
  if (!access.problem.empty() && access.problem != "out of bounds") text += " (" + access.problem + ")";
  if (access.nearest) text += ", " + relation(access);
  return text;
}

}  // namespace cudadiag::evidence
