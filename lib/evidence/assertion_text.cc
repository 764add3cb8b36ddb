// Reads the text that failed assertions print.
#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "evidence/tool_text.h"

namespace cudadiag::evidence {
namespace {

constexpr std::string_view kBlock = ": block: [";
constexpr std::string_view kThread = "], thread: [";
constexpr std::string_view kAssertionSays = "] Assertion `";
constexpr std::string_view kFailed = "` failed";
constexpr std::string_view kUnnamed = "unknown";  // printed by Triton

std::optional<Dim3> dimensions(std::string_view text) {
  Dim3 found{};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t comma = i < 2 ? text.find(',') : text.size();
    if (comma == std::string_view::npos) return std::nullopt;
    const auto value = base::whole_number<std::uint32_t>(text.substr(0, comma));
    if (!value) return std::nullopt;
    found[i] = *value;
    text.remove_prefix(std::min(text.size(), comma + 1));
  }
  return found;
}

// Drops other output that precedes the file name on its line, such as a progress bar or the tag of a rank.
std::string_view without_foreign_start(std::string_view file) {
  for (const std::string_view mark : {" /", ":/", "]/", ">/", "|/"}) {
    if (const std::size_t at = file.rfind(mark); at != std::string_view::npos) file.remove_prefix(at + 1);
  }
  for (const std::string_view mark : {": ", "] ", "| "}) {
    if (const std::size_t at = file.rfind(mark); at != std::string_view::npos) file.remove_prefix(at + mark.size());
  }
  return base::trimmed(file);
}

// Reads "FILE:LINE: FUNCTION". Uses the last number between colons. A function name contains no such number, but a time
// of day at the start of the line may contain one.
bool read_place(std::string_view text, Assertion& assertion) {
  for (std::size_t end = text.rfind(": "); end != std::string_view::npos && end > 0; end = text.rfind(": ", end - 1)) {
    const std::size_t colon = text.find_last_not_of("0123456789", end - 1);
    if (colon == std::string_view::npos || colon == 0 || text[colon] != ':') continue;
    const auto line = base::whole_number<std::uint32_t>(text.substr(colon + 1, end - colon - 1));
    if (!line) continue;
    assertion.file = without_foreign_start(text.substr(0, colon));
    assertion.line = *line;
    assertion.function = base::trimmed(text.substr(end + 2));
    if (assertion.function == kUnnamed) assertion.function.clear();
    return !assertion.file.empty();
  }
  return false;
}

// Removes everything up to the end of `mark` from `text`, and returns the part before `mark`.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at + mark.size());
  return before;
}

class Reader {
 public:
  void read(std::string_view output) {
    dsa_ = {};
    while (!output.empty()) {
      // A progress bar overwrites its line after a lone CR.
      const std::size_t end = std::min(output.find_first_of("\r\n"), output.size());
      const std::string_view line = output.substr(0, end);
      output.remove_prefix(std::min(output.size(), end + 1));
      if (line.size() <= 8 * kLongestPart) read_line(line);
    }
  }

  std::vector<Assertion> found() && { return std::move(found_); }

 private:
  // Reads one line. It may contain two assertions if two processes printed them at the same time.
  void read_line(std::string_view line) {
    read_dsa(line);
    while (const auto place = take_until(line, kBlock)) {
      const auto block = take_until(line, kThread);
      const auto thread = block ? take_until(line, kAssertionSays) : std::nullopt;
      const auto condition = thread ? take_until(line, kFailed) : std::nullopt;
      if (!condition) return;
      if (line.starts_with('.')) line.remove_prefix(1);
      const auto block_index = dimensions(*block), thread_index = dimensions(*thread);
      // If another assertion interrupted this line, the condition contains the start of that assertion.
      const bool mixed = condition->find(kBlock) != std::string_view::npos;
      Assertion assertion;
      if (!block_index || !thread_index || mixed || !read_place(*place, assertion)) continue;
      assertion.condition = *condition;
      assertion.block = *block_index;
      assertion.thread = *thread_index;
      add(std::move(assertion));
    }
  }

  static std::optional<std::string_view> value(std::string_view line, std::string_view name) {
    if (!take_until(line, name)) return std::nullopt;
    return base::trimmed(line);
  }

  static std::optional<Dim3> bracketed(std::string_view text) {
    if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
    return dimensions(text.substr(1, text.size() - 2));
  }

  void read_dsa(std::string_view line) {
    if (const auto message = value(line, "GPU assertion failure message = ")) {
      dsa_ = Assertion();
      dsa_->condition = *message;
      thread_known_ = false;
    }
    if (!dsa_) return;
    if (const auto place = value(line, "File containing assertion = ")) {
      const std::size_t colon = place->rfind(':');
      const auto number_of_line =
          colon == std::string_view::npos ? std::nullopt : base::whole_number<std::uint32_t>(place->substr(colon + 1));
      if (!number_of_line) return dsa_.reset();
      dsa_->file = place->substr(0, colon);
      dsa_->line = *number_of_line;
    } else if (const auto function = value(line, "Device function containing assertion = ")) {
      dsa_->function = *function;
    } else if (const auto thread = value(line, "Thread ID that failed assertion = ")) {
      const auto index = bracketed(*thread);
      if (!index) return dsa_.reset();
      dsa_->thread = *index;
      thread_known_ = true;
    } else if (const auto block = value(line, "Block ID that failed assertion = ")) {
      const auto index = bracketed(*block);
      if (index && thread_known_ && !dsa_->file.empty()) {
        dsa_->block = *index;
        add(std::move(*dsa_));
      }
      dsa_.reset();
      thread_known_ = false;
    }
  }

  static bool same(const Assertion& a, const Assertion& b) {
    if (a.line != b.line || a.function != b.function || a.condition != b.condition) return false;
    if (a.file == b.file) return true;
    // The longer name may begin with other output that was printed on the same line.
    const auto& [longer, shorter] = a.file.size() > b.file.size() ? std::tie(a.file, b.file) : std::tie(b.file, a.file);
    return shorter.starts_with('/') && longer.ends_with(shorter);
  }

  void add(Assertion assertion) {
    if (std::max({assertion.condition.size(), assertion.file.size(), assertion.function.size()}) > kLongestPart) return;
    auto known = std::ranges::find_if(found_, [&](const Assertion& other) { return same(assertion, other); });
    if (known == found_.end()) {
      if (found_.size() == kMostAssertions) return;
      found_.push_back(assertion);
      threads_.emplace_back();
      known = found_.end() - 1;
    } else if (assertion.file.size() < known->file.size()) {
      known->file = assertion.file;
    }
    auto& threads = threads_[static_cast<std::size_t>(known - found_.begin())];
    // PyTorch's exception may print its assertions again, so count each thread only once.
    threads.emplace(assertion.block, assertion.thread);
    known->threads = threads.size();
  }

  std::vector<Assertion> found_;
  std::vector<std::set<std::pair<Dim3, Dim3>>> threads_;  // for each entry of found_
  std::optional<Assertion> dsa_;                          // the assertion whose block of lines is being read
  bool thread_known_ = false;                             // dsa_->thread was read
};

}  // namespace

std::vector<Assertion> assertions_in(std::string_view output) {
  Reader reader;
  reader.read(output);
  return std::move(reader).found();
}

std::vector<Assertion> read_assertions(const std::filesystem::path& output, std::uint64_t kept) {
  const base::FileDescriptor file = base::open_plain(output);
  if (!file.valid()) return {};
  Reader reader;
  const std::uint64_t size = base::size_of(file);
  if (size <= 2 * kept) {
    reader.read(base::read_part(file.get(), 0, size));
  } else {
    reader.read(base::read_part(file.get(), 0, kept));
    reader.read(base::read_part(file.get(), size - kept, kept));
  }
  return std::move(reader).found();
}

}  // namespace cudadiag::evidence
