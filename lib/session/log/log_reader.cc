#include "session/log/log_reader.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/plain_file.h"

namespace cudadiag::session {
namespace {

constexpr std::size_t kReadBlock = 64u << 10;

}  // namespace

std::optional<LogReader> LogReader::open(const std::filesystem::path& file) { return open(base::open_plain(file)); }

std::optional<LogReader> LogReader::open(base::FileDescriptor file) {
  alignas(8) std::array<std::byte, kLogHeader> header{};
  if (::pread(file.get(), header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()) ||
      wire::load(header.data(), log_header::kMagic) != kLogMagic ||
      wire::load(header.data(), log_header::kVersion) != kLogVersion) {
    return std::nullopt;
  }
  LogReader reader(std::move(file));
  reader.pid_ = wire::load(header.data(), log_header::kPid);
  reader.start_ = wire::load(header.data(), log_header::kStart);
  reader.rewind();
  return reader;
}

void LogReader::rewind() {
  buffer_.assign(kReadBlock + kMostItemBytes, 0);
  offset_ = kLogHeader;
  at_ = filled_ = 0;
  whole_ = false;
  model_ = LogModel();
  through_.clear();
  ended_ = false;
}

void LogReader::refill() {
  std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
  filled_ -= at_;
  at_ = 0;
  while (filled_ < kReadBlock && !whole_) {
    const ssize_t got =
        ::pread(file_.get(), buffer_.data() + filled_, kReadBlock - filled_, static_cast<off_t>(offset_));
    if (got < 0 && errno == EINTR) continue;
    whole_ = got <= 0;
    if (whole_) break;
    filled_ += static_cast<std::size_t>(got);
    offset_ += static_cast<std::uint64_t>(got);
  }
  std::fill(buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.end(), std::uint8_t{0});
}

LogReader::Item LogReader::next() {
  while (!ended_) {
    if (filled_ - at_ < kMostItemBytes && !whole_) refill();
    const std::uint8_t* from = buffer_.data() + at_;
    std::uint64_t key = 0;
    std::optional<Item> item;
    if (at_ == filled_ || !take_number(from, key)) {
      ended_ = true;
    } else if (key == 0) {
      ended_ = !read_note(from, item);
    } else {
      ended_ = !keep(model_.decode(key, from));
      item = Item::record;
    }
    if (item && !ended_) return *item;
  }
  return Item::end;
}

// Rejects an item that extends beyond the end of the data, where the buffer contains only zeros.
bool LogReader::keep(const std::uint8_t* end) {
  if (end == nullptr || end > buffer_.data() + filled_) return false;
  at_ = static_cast<std::size_t>(end - buffer_.data());
  return true;
}

bool LogReader::read_note(const std::uint8_t* from, std::optional<Item>& item) {
  std::uint64_t what = 0, count = 0;
  if (!take_number(from, what) || !take_number(from, count)) return false;
  if (what == static_cast<std::uint64_t>(LogNote::lost)) {
    if (!take_number(from, lost_until_)) return false;
    lost_count_ = count;
    item = Item::lost;
    return keep(from);
  }
  if (what != static_cast<std::uint64_t>(LogNote::through) || count > kMostLogThreads) return false;
  std::vector<std::uint64_t> through(count);
  for (std::uint64_t& serial : through) {
    if (!take_number(from, serial)) return false;
  }
  if (!keep(from)) return false;
  through_ = std::move(through);
  return true;
}

}  // namespace cudadiag::session
