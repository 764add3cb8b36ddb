#include "symbolize/source_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "session/process_record.h"
#include "session/session_files.h"

namespace cudadiag::symbolize {
namespace {

constexpr double kGrain = 1;  // seconds; file timestamps are coarse, and the clocks of file servers may differ

bool written_since(const std::string& file, double unix_seconds) {
  const auto written = time_written(file);
  return unix_seconds > 0 && written && *written > unix_seconds + kGrain;
}

}  // namespace

std::optional<double> time_written(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<double>(status.st_mtim.tv_sec) + static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
}

bool written_since_start(const std::string& file, const session::ProcessRecord& record) {
  return written_since(file, static_cast<double>(record.start_realtime) * 1e-9);
}

bool written_since_end(const std::string& file, const session::ProcessRecord& record) {
  const bool known = record.start_realtime != 0 && record.clock_last != 0 && record.seconds_per_tick > 0;
  return known && written_since(file, record.unix_seconds(record.clock_last));
}

std::string absolute_file(const std::string& file, const session::ProcessRecord& record) {
  if (file.empty() || file.starts_with('<') || file.starts_with('/')) return file;
  const std::string& cwd = session::value_of(record, session::Property::cwd);
  return cwd.empty() ? file : (std::filesystem::path(cwd) / file).lexically_normal().string();
}

std::vector<std::string> rewritten_files(const session::Session& session) {
  // A command may build a program and then run it, so compare only with the last process that used the file.
  std::map<std::string, std::pair<double, std::string>> last_had;
  for (const session::Process& process : session.processes) {
    const session::ProcessRecord& record = process.record;
    const std::uint64_t last = record.frozen_ticks != 0 ? record.frozen_ticks : record.clock_last;
    if (record.start_realtime == 0 || last < record.clock_start || record.seconds_per_tick <= 0) continue;
    const auto add = [&, ended = record.unix_seconds(last)](const std::string& name) {
      auto& [latest, file] = last_had[name];
      if (ended > latest) std::tie(latest, file) = std::pair(ended, absolute_file(name, record));
    };
    for (const session::Code& code : record.codes) add(code.file);
    for (const session::Module& module : record.modules) add(module.path);
  }
  std::vector<std::string> files;
  for (const auto& [name, had] : last_had) {
    const auto written = had.second.starts_with('/') ? time_written(had.second) : std::nullopt;
    if (written && *written > had.first) files.push_back(name);
  }
  return files;
}

namespace {

constexpr std::uintmax_t kLargestSource = 16u << 20;
constexpr std::size_t kLongestLine = 200;

thread_local bool withheld = false;

// Reads a file byte by byte. Returns kEnd after the last byte.
class SourceReader {
 public:
  static constexpr int kEnd = -1;

  explicit SourceReader(base::FileDescriptor file) : file_(std::move(file)) {}

  int peek() {
    if (at_ == have_) fill();
    return at_ == have_ ? kEnd : static_cast<unsigned char>(buffer_[at_]);
  }
  int take() {
    const int c = peek();
    if (c != kEnd) ++at_;
    return c;
  }

 private:
  void fill() {
    ssize_t got = 0;
    do {
      got = ::read(file_.get(), buffer_.data(), buffer_.size());
    } while (got < 0 && errno == EINTR);
    at_ = 0;
    have_ = got > 0 && total_ < kLargestSource ? static_cast<std::size_t>(got) : 0;
    total_ += have_;
  }

  base::FileDescriptor file_;
  std::array<char, 16384> buffer_{};
  std::size_t at_ = 0, have_ = 0, total_ = 0;
};

// Counts lines as compilers and Python do: a lone CR ends a line, too.
bool next_line(SourceReader& from, std::string& line) {
  line.clear();
  int c = from.take();
  if (c == SourceReader::kEnd) return false;
  for (; c != SourceReader::kEnd && c != '\n' && c != '\r'; c = from.take()) line += static_cast<char>(c);
  if (c == '\r' && from.peek() == '\n') from.take();
  return true;
}

}  // namespace

std::vector<SourceLine> source_excerpt(const std::string& file, int line, int neighbours) {
  // Reject relative paths: they are relative to the working directory of the process or the compiler, and may name a
  // different file here.
  if (withheld || line <= 0 || neighbours < 0 || !file.starts_with('/')) return {};
  base::FileDescriptor source = session::open_named_file(file);
  struct stat status {};
  if (!source.valid() || ::fstat(source.get(), &status) != 0) return {};
  if (static_cast<std::uintmax_t>(status.st_size) > kLargestSource) return {};
  SourceReader bytes(std::move(source));
  std::vector<SourceLine> excerpt;
  std::string text;
  const std::int64_t first = std::int64_t{line} - neighbours, last = std::int64_t{line} + neighbours;
  int number = 1;
  for (; number <= last && next_line(bytes, text); ++number) {
    if (number < first) continue;
    excerpt.push_back({number, plain_text(text, kLongestLine)});
  }
  return number > line ? excerpt : std::vector<SourceLine>{};
}

WithheldSources::WithheldSources(bool withhold) : before_(std::exchange(withheld, withheld || withhold)) {}

WithheldSources::~WithheldSources() { withheld = before_; }

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

namespace {

constexpr std::size_t kTabStop = 4;

bool is_harmless(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return false;
  if (code == 0x061c || code == 0xfeff) return false;  // direction mark, zero-width no-break space
  if (code >= 0x200b && code <= 0x200f) return false;  // zero-width characters, direction marks
  if (code >= 0x2028 && code <= 0x202e) return false;  // separators, direction embeddings and overrides
  return !(code >= 0x2060 && code <= 0x206f);          // invisible operators, direction isolates
}

}  // namespace

std::string plain_text(std::string_view text, std::size_t limit) {
  std::string plain;
  std::size_t column = 0;
  while (!text.empty()) {
    const base::Character character = base::first_character(text);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    std::string_view piece = text.substr(0, bytes);
    std::size_t width = 1;
    if (character.code == '\t') {
      width = kTabStop - column % kTabStop;
      piece = std::string_view("    ").substr(0, width);
    } else if (character.bytes == 0 || !is_harmless(character.code)) {
      piece = "?";
    }
    if (plain.size() + piece.size() > limit) break;
    plain += piece;
    column += width;
    text.remove_prefix(bytes);
  }
  return plain;
}

}  // namespace cudadiag::symbolize
