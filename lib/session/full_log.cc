#include "session/full_log.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace cudadiag::session {

namespace {

namespace operation = wire::operation;

// The order in which a record's words are encoded. The stream and the flags come first, because other words are
// predicted from them. Words that change often are next, which keeps the mask short. Words 2 and 3 are the ticks, which
// are encoded separately.
constexpr std::size_t kSerialWord = 0, kFlagsWord = 1, kTicksWord = 2, kOrdinalWord = 4, kSiteOrdinalWord = 5,
                      kStreamWord = 6;
constexpr std::array<std::uint8_t, 14> kOrder = {kStreamWord, kFlagsWord,       13, 14, 15, 7,  kOrdinalWord,
                                                 kSerialWord, kSiteOrdinalWord, 8,  9,  10, 11, 12};
static_assert(operation::kSerial.offset == 4 * kSerialWord && operation::kThread.offset == 4 * kFlagsWord + 2 &&
              operation::kTicks.offset == 4 * kTicksWord && operation::kOrdinal.offset == 4 * kOrdinalWord &&
              operation::kSiteOrdinal.offset == 4 * kSiteOrdinalWord &&
              operation::kStream.offset == 4 * kStreamWord + 2);

// Maps a small difference of either sign to a small unsigned number.
template <typename T>
T zigzag(T difference) {
  return (difference << 1) ^ (T{0} - (difference >> (8 * sizeof(T) - 1)));
}
template <typename T>
T unzigzag(T value) {
  return (value >> 1) ^ (T{0} - (value & 1));
}

constexpr std::uint8_t thread_of(std::uint32_t flags_word) { return static_cast<std::uint8_t>(flags_word >> 16); }
constexpr std::uint16_t stream_of(std::uint32_t stream_word) { return static_cast<std::uint16_t>(stream_word >> 16); }

}  // namespace

void append_number(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

LogModel::Words& LogModel::last(std::uint64_t key) {
  if (key >= last_.size()) last_.resize(key + 1);
  return last_[key];
}

void LogModel::expect_counts(const Words& last, Words& words) const {
  const bool seen = last[kFlagsWord] != 0;
  const std::size_t stream = stream_of(words[kStreamWord]);
  words[kOrdinalWord] = seen && last[kOrdinalWord] == 0 ? 0 : (stream < ordinals_.size() ? ordinals_[stream] : 0) + 1;
  words[kSiteOrdinalWord] = seen && last[kSiteOrdinalWord] == 0 ? 0 : last[kSiteOrdinalWord] + 1;
  words[kSerialWord] = static_cast<std::uint32_t>(serials_[thread_of(words[kFlagsWord])]) + 1;
}

void LogModel::remember(Words& last, const Words& words) {
  last = words;
  if (words[kOrdinalWord] != 0) {
    const std::size_t stream = stream_of(words[kStreamWord]);
    if (stream >= ordinals_.size()) ordinals_.resize(stream + 1);
    ordinals_[stream] = words[kOrdinalWord];
  }
  std::uint64_t& serial = serials_[thread_of(words[kFlagsWord])];
  serial += words[kSerialWord] - static_cast<std::uint32_t>(serial);
  serial_ = serial;
  std::memcpy(copy_.bytes.data(), words.data(), sizeof words);
  wire::store(copy_.bytes.data(), operation::kTicks, ticks_);
}

void LogModel::encode(const std::byte* record, std::string& out) {
  Words words;
  std::memcpy(words.data(), record, sizeof words);
  const std::uint64_t site = wire::load(record, operation::kSite);
  const std::uint64_t key = site != 0 ? site * 2 : wire::load(record, operation::kKind) * std::uint64_t{2} + 1;
  Words& before = last(key);
  Words expected = before;
  expected[kStreamWord] = words[kStreamWord];
  expected[kFlagsWord] = words[kFlagsWord];
  expect_counts(before, expected);
  expected[kStreamWord] = before[kStreamWord];
  expected[kFlagsWord] = before[kFlagsWord];

  const std::uint64_t ticks = wire::load(record, operation::kTicks);
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kOrder.size(); ++i) {
    if (words[kOrder[i]] != expected[kOrder[i]]) mask |= std::uint64_t{1} << i;
  }
  append_number(out, key);
  append_number(out, zigzag(ticks - ticks_));
  append_number(out, mask);
  for (std::size_t i = 0; i < kOrder.size(); ++i) {
    if (mask >> i & 1) append_number(out, zigzag(words[kOrder[i]] - expected[kOrder[i]]));
  }
  ticks_ = ticks;
  remember(before, words);
}

const std::uint8_t* LogModel::decode(std::uint64_t key, const std::uint8_t* from) {
  std::uint64_t ticks = 0, mask = 0, difference = 0;
  // Rejects impossible keys: sites have 16 bits, kinds have eight, and no record has kind 0.
  if (key < 2 || key >= 2 * 65536 || (key % 2 == 1 && key > 2 * 255 + 1)) return nullptr;
  if (!take_number(from, ticks) || !take_number(from, mask) || mask >> kOrder.size() != 0) return nullptr;
  Words& before = last(key);
  Words words = before;
  const auto take = [&](std::size_t word) {
    if (!take_number(from, difference) || difference >> 32 != 0) return false;
    words[word] += unzigzag(static_cast<std::uint32_t>(difference));
    return true;
  };
  if ((mask & 1) != 0 && !take(kStreamWord)) return nullptr;
  if ((mask & 2) != 0 && !take(kFlagsWord)) return nullptr;
  expect_counts(before, words);
  for (mask &= ~std::uint64_t{3}; mask != 0; mask &= mask - 1) {
    if (!take(kOrder[static_cast<std::size_t>(std::countr_zero(mask))])) return nullptr;
  }
  ticks_ += unzigzag(ticks);
  remember(before, words);
  return from;
}

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

namespace {

constexpr std::size_t kWriteBlock = 256u << 10;
constexpr const char* kMoreRoom = "free some space, or choose a different folder with -o FOLDER";

// Returns whether there is enough free space on the file's disk; true if unknown.
bool has_room(int file) {
  struct statvfs disk {};
  if (::fstatvfs(file, &disk) != 0 || disk.f_blocks == 0) return true;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize > LogWriter::kLeftFree;
}

}  // namespace

base::Result<LogWriter> LogWriter::create(const std::filesystem::path& folder, std::uint32_t pid, std::uint64_t start) {
  for (int n = 1; n < 1000; ++n) {
    const std::string name = std::to_string(pid) + (n == 1 ? "" : "-" + std::to_string(n)) + ".log";
    base::FileDescriptor file(
        ::open((folder / name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.valid()) {
      LogWriter writer(folder / name, pid, std::move(file));
      alignas(8) std::array<std::byte, kLogHeader> header{};
      wire::store(header.data(), log_header::kMagic, kLogMagic);
      wire::store(header.data(), log_header::kVersion, kLogVersion);
      wire::store(header.data(), log_header::kPid, pid);
      wire::store(header.data(), log_header::kStart, start);
      writer.waiting_.assign(reinterpret_cast<const char*>(header.data()), header.size());
      return writer;
    }
    if (errno != EEXIST) break;
  }
  return base::Error{"cannot create a full log in " + folder.string() + ": " + std::strerror(errno),
                     "choose a writable folder with -o FOLDER"};
}

void LogWriter::record(const std::byte* record) {
  if (wire::operation::is_race_record(static_cast<wire::operation::Kind>(wire::load(record, wire::operation::kKind)))) {
    return;
  }
  if (!failure_.what.empty()) return;
  model_.encode(record, waiting_);
  if (waiting_.size() >= kWriteBlock) flush();
}

void LogWriter::lost(std::uint64_t count, std::uint64_t until) {
  lost_ += count;
  if (!failure_.what.empty()) return;
  append_number(waiting_, 0);
  append_number(waiting_, static_cast<std::uint64_t>(LogNote::lost));
  append_number(waiting_, count);
  append_number(waiting_, until);
}

void LogWriter::flush_through(const std::vector<std::uint64_t>& serials) {
  if (failure_.what.empty()) {
    append_number(waiting_, 0);
    append_number(waiting_, static_cast<std::uint64_t>(LogNote::through));
    append_number(waiting_, serials.size());
    for (const std::uint64_t serial : serials) append_number(waiting_, serial);
  }
  flush();
}

void LogWriter::end_early(const std::string& why, std::string hint) {
  failure_ = {"the full log of process " + std::to_string(pid_) + " ends early: " + why, std::move(hint)};
}

// A full disk may truncate the log in the middle of an item. The reader then ignores that item.
void LogWriter::flush() {
  if (failure_.what.empty() && written_ + waiting_.size() > kMostBytes) {
    end_early("it has reached its limit of 1 GiB",
              "only the latest operations after that are kept, as without --full-log");
  }
  if (failure_.what.empty() && !has_room(file_.get())) {
    end_early("its disk has less than " + std::to_string(kLeftFree >> 20) + " MB left", kMoreRoom);
  }
  if (failure_.what.empty() && !base::write_all(file_.get(), waiting_)) end_early(std::strerror(errno), kMoreRoom);
  written_ += waiting_.size();
  waiting_.clear();
}

base::Error LogWriter::give_up() {
  failure_ = {"the full log of process " + std::to_string(pid_) + " was discarded to make room for the recording",
              kMoreRoom};
  waiting_.clear();
  // Truncates the file first, because a reader that has the file open keeps its space allocated.
  if (::ftruncate(file_.get(), 0) == 0) base::remove_file(file_, path_);
  return failure_;
}

}  // namespace cudadiag::session
