#include "session/log/log_writer.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/plain_folder.h"
#include "wire/operation.h"

namespace cudadiag::session {
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
  std::string_view rest = waiting_;
  if (failure_.what.empty() && written_ + rest.size() > kMostBytes) {
    end_early("it has reached its limit of 1 GiB",
              "only the latest operations after that are kept, as without --full-log");
  }
  if (failure_.what.empty() && !has_room(file_.get())) {
    end_early("its disk has less than " + std::to_string(kLeftFree >> 20) + " MB left", kMoreRoom);
  }
  while (failure_.what.empty() && !rest.empty()) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      end_early(std::strerror(errno), kMoreRoom);
      break;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
    written_ += static_cast<std::uint64_t>(written);
  }
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
