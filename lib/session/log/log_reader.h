// Reads a full log (log_codec.h) record by record. Treats every byte as hostile. The file may grow or shrink while it
// is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "session/log/log_codec.h"

namespace cudadiag::session {

struct LoggedRecord {
  OperationCopy copy;
  std::uint64_t serial = 0;

  template <typename T, std::size_t Offset>
  T load(wire::Field<T, Offset> field) const {
    return wire::load(copy.data(), field);
  }
};

class LogReader {
 public:
  enum class Item {
    record,  // read it with record() and serial()
    lost,    // lost_count() records are missing, all of them from before lost_until()
    end,     // the end of the file, or of its valid part
  };

  static std::optional<LogReader> open(const std::filesystem::path& file);
  static std::optional<LogReader> open(base::FileDescriptor file);

  std::uint32_t pid() const { return pid_; }
  std::uint64_t start() const { return start_; }

  // After the end, each call returns `end` again.
  Item next();
  const std::byte* record() const { return model_.record().data(); }
  std::uint64_t serial() const { return model_.serial(); }
  LoggedRecord current() const { return {model_.record(), model_.serial()}; }
  std::uint64_t lost_count() const { return lost_count_; }
  std::uint64_t lost_until() const { return lost_until_; }
  // Returns, for each thread, the serial up to which every record is in the log or counted as lost.
  const std::vector<std::uint64_t>& through() const { return through_; }

  void rewind();

 private:
  explicit LogReader(base::FileDescriptor file) : file_(std::move(file)) {}
  void refill();
  bool keep(const std::uint8_t* end);
  // Returns false if the item is invalid. Sets `item` if the caller should receive it.
  bool read_note(const std::uint8_t* from, std::optional<Item>& item);

  base::FileDescriptor file_;
  std::uint32_t pid_ = 0;
  std::uint64_t start_ = 0;
  std::uint64_t offset_ = 0;  // file offset of the end of the buffered bytes
  // The bytes [at_, filled_) have not been read yet. At least kMostItemBytes zeros follow them.
  std::vector<std::uint8_t> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  bool whole_ = false;  // the end of the file was reached
  LogModel model_;
  std::uint64_t lost_count_ = 0, lost_until_ = 0;
  std::vector<std::uint64_t> through_;
  bool ended_ = false;
};

}  // namespace cudadiag::session
