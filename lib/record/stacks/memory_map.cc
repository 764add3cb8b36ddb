#include "record/stacks/memory_map.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

namespace cudadiag::record {

namespace {

// The kernel writes a newline in a name as \012. The name may also contain the text \012 itself, so a path that exists
// is not changed.
void restore_newlines(char* path) {
  constexpr char kEscaped[] = "\\012";
  if (strstr(path, kEscaped) == nullptr || access(path, F_OK) == 0) return;
  char* to = path;
  for (const char* from = path; *from != '\0';) {
    const bool newline = strncmp(from, kEscaped, 4) == 0;
    *to++ = newline ? '\n' : *from;
    from += newline ? 4 : 1;
  }
  *to = '\0';
}

}  // namespace

MemoryMap::MemoryMap() : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}

MemoryMap::~MemoryMap() {
  if (fd_ >= 0) close(fd_);
}

int MemoryMap::next_byte() {
  if (at_ == filled_) {
    const ssize_t got = fd_ < 0 || !text_ ? -1 : read(fd_, text_->read.data(), text_->read.size());
    if (got <= 0) return -1;
    filled_ = static_cast<std::size_t>(got);
    at_ = 0;
  }
  return static_cast<unsigned char>(text_->read[at_++]);
}

// Parses a line such as "7f01a000-7f01c000 r-xp 00001000 fe:00 1234       /usr/lib/libc.so.6".
bool MemoryMap::next(MemoryRange& range) {
  std::uint64_t numbers[3] = {};
  std::size_t field = 0, length = 0;
  int byte = next_byte();
  if (byte < 0) return false;
  for (; byte >= 0 && byte != '\n'; byte = next_byte()) {
    if (field < 5 && (byte == ' ' || (field == 0 && byte == '-' && numbers[1] == 0))) {
      // Field 0 contains two numbers. Several blanks may precede the path, but not the other fields.
      if (byte == '-') {
        numbers[1] = numbers[0];
        numbers[0] = 0;
      } else {
        if (field == 0) range.begin = numbers[1], range.end = numbers[0];
        ++field;
      }
      continue;
    }
    if (field == 0 || field == 2) {
      const std::uint64_t digit = byte <= '9' ? byte - '0' : (byte | 32) - 'a' + 10;
      std::uint64_t& number = field == 0 ? numbers[0] : numbers[2];
      number = number << 4 | digit;
    } else if (field == 5 && (byte != ' ' || length > 0) && length + 1 < text_->path.size()) {
      text_->path[length++] = static_cast<char>(byte);
    }
  }
  text_->path[length] = '\0';
  restore_newlines(text_->path.data());
  range.path = text_->path.data();
  range.file_offset = numbers[2];
  return true;
}

}  // namespace cudadiag::record
