#include "session/live_place.h"

#include <charconv>
#include <climits>

#include "session/plain_file.h"

namespace cudadiag::session {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongest = 128;

template <typename Number>
bool take_number(std::string_view& text, Number& number, char end) {
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto taken = static_cast<std::size_t>(rest - text.data());
  if (failure != std::errc() || taken >= text.size() || *rest != end) return false;
  text.remove_prefix(taken + 1);
  return true;
}

// The newest whose recording a launcher holds that lives, or held that does not.
std::optional<fs::path> newest_held(const std::vector<Root>& roots, bool lives) {
  std::optional<fs::path> newest;
  std::error_code ignored;
  for (const Root& root : roots) {
    for (const fs::path& session : sessions_in(root.folder)) {
      if (!session.filename().string().ends_with(kIncomplete) || is_being_written(session) != lives) continue;
      if (!lives && (!fs::exists(session / kArenaFile, ignored) || fs::exists(session / kManifest, ignored))) continue;
      if (!newest || session.filename() > newest->filename()) newest = session;
      break;  // newest first
    }
  }
  return newest;
}

}  // namespace

std::string write_live_place(const LivePlace& place) {
  return std::to_string(place.pid) + ' ' + std::to_string(place.descriptor) + ' ' + std::to_string(place.inode) + '\n';
}

std::optional<LivePlace> parse_live_place(std::string_view text) {
  LivePlace place;
  if (!take_number(text, place.pid, ' ') || !take_number(text, place.descriptor, ' ') ||
      !take_number(text, place.inode, '\n') || !text.empty()) {
    return std::nullopt;
  }
  if (place.pid == 0 || place.pid > INT_MAX || place.descriptor < 0) return std::nullopt;
  return place;
}

std::optional<LivePlace> live_place(const fs::path& session) {
  const auto text = read_plain_file(session / kArenaFile, kLongest);
  return text ? parse_live_place(*text) : std::nullopt;
}

std::optional<fs::path> newest_live(const std::vector<Root>& roots) { return newest_held(roots, true); }

std::optional<fs::path> newest_lost(const std::vector<Root>& roots) { return newest_held(roots, false); }

}  // namespace cudadiag::session
