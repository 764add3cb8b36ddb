#include "symbolize/source_excerpt.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "symbolize/plain_text.h"

namespace cudadiag::symbolize {
namespace {

constexpr std::uintmax_t kLargestSource = 16u << 20;
constexpr std::size_t kLongestLine = 200;

// Where the process stood, or the compiler: from elsewhere another file may be there.
bool is_relative(const std::string& file) { return !file.starts_with('/') || file.starts_with("/proc/self/"); }

// Opening a pipe or a device for reading could wait forever, so only plain files are.
bool is_readable_source(const std::string& file) {
  std::error_code error;
  if (is_relative(file)) return false;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  const auto size = std::filesystem::file_size(file, error);
  return !error && size <= kLargestSource;
}

// As compilers and Python count lines: a lone CR ends one, too.
bool next_line(std::streambuf& from, std::string& line) {
  constexpr int kEnd = std::char_traits<char>::eof();
  line.clear();
  int c = from.sbumpc();
  if (c == kEnd) return false;
  for (; c != kEnd && c != '\n' && c != '\r'; c = from.sbumpc()) line += static_cast<char>(c);
  if (c == '\r' && from.sgetc() == '\n') from.sbumpc();
  return true;
}

}  // namespace

std::vector<SourceLine> source_excerpt(const std::string& file, int line, int neighbours) {
  if (line <= 0 || neighbours < 0 || !is_readable_source(file)) return {};
  std::ifstream stream(file, std::ios::binary);
  std::vector<SourceLine> excerpt;
  std::string text;
  const std::int64_t first = std::int64_t{line} - neighbours, last = std::int64_t{line} + neighbours;
  int number = 1;
  for (; number <= last && next_line(*stream.rdbuf(), text); ++number) {
    if (number < first) continue;
    excerpt.push_back({number, plain_text(text, kLongestLine)});
  }
  return number > line ? excerpt : std::vector<SourceLine>{};
}

std::string without_comment(std::string_view line, std::string_view mark) {
  char quote = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (quote == 0 && line.substr(at).starts_with(mark)) {
      line = line.substr(0, at);
      while (line.ends_with(' ')) line.remove_suffix(1);
      break;
    }
    if (quote != 0 && line[at] == '\\') {
      ++at;
    } else if (quote == 0 ? line[at] == '"' || line[at] == '\'' : line[at] == quote) {
      quote = quote == 0 ? line[at] : '\0';
    }
  }
  return std::string(line);
}

}  // namespace cudadiag::symbolize
