#include "replay/answer.h"

#include <charconv>

#include "replay/saved_launch.h"

namespace cudadiag::replay {
namespace {

std::string_view next_word(std::string_view& line) {
  const std::size_t blank = line.find(' ');
  const std::string_view word = line.substr(0, blank);
  line.remove_prefix(blank == std::string_view::npos ? line.size() : blank + 1);
  return word;
}

std::uint64_t number(std::string_view word, int base = 10) {
  std::uint64_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value, base);
  return value;
}

void read_line(std::string_view line, Answer& answer) {
  const std::string_view key = next_word(line);
  if (key == "cannot") answer.cannot = std::string(line.substr(0, 1024));
  if (key == "gpu") answer.gpu = std::string(line.substr(0, kLongestBus));
  if (key == "launching") answer.launching = true;
  if (key == "only-reached") answer.only_reached = true;
  if (key == "outputs") answer.outputs = true;
  if (key == "refused") answer.refused = static_cast<std::uint32_t>(number(line));
  if (key == "result") answer.result = static_cast<std::uint32_t>(number(line));
  if (key == "rewritten") answer.rewritten = number(line);
  if (key == "placed") {
    answer.placed = number(next_word(line));
    next_word(line);  // "of"
    answer.placeable = number(line);
  }
  if (key == "block") {
    const std::uint64_t block = number(next_word(line));
    answer.moved[block] = number(line, 16);
  }
}

}  // namespace

Answer read_answer(std::string_view text) {
  Answer answer;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // the child died while writing this line
    read_line(text.substr(0, end), answer);
    text.remove_prefix(end + 1);
  }
  return answer;
}

}  // namespace cudadiag::replay
