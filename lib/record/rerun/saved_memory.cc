// The memory that a launch may use, and which parts of it are saved (launch_saver.h).
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "record/rerun/launch_saver.h"

namespace cudadiag::record {

using wire::allocation::Kind;
using wire::saved_launch::Reach;
using wire::saved_launch::Unsaved;

namespace {

bool is_of_host(Kind kind) { return kind == Kind::pinned || kind == Kind::registered; }

// Returns the limit on file sizes. A write beyond it would kill the program with SIGXFSZ.
std::uint64_t file_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 ? 0 : limit.rlim_cur;
}

}  // namespace

void SavedMemory::start(const SavingApi& api, const Allocations& allocations, int folder, std::uint64_t limit) {
  api_ = &api;
  folder_ = folder;
  left_ = limit;
  count_ = 0;
  allocations.each_living([&](std::uint64_t address, std::uint64_t bytes, Kind kind) {
    if (bytes == 0 || count_ == wire::area::kAllocations || address + bytes < address) return;
    blocks_[count_++] = {address, bytes, 0, 0, bytes, kind, Reach::nothing, Unsaved::no};
  });
  std::sort(blocks_, blocks_ + count_, [](const Block& a, const Block& b) { return a.address < b.address; });
  lowest_ = count_ == 0 ? 0 : blocks_[0].address;
  highest_ = count_ == 0 ? 0 : blocks_[count_ - 1].address + blocks_[count_ - 1].bytes;
}

void SavedMemory::note(std::uint64_t pointer, Reach reach) {
  Block* after = std::upper_bound(blocks_, blocks_ + count_, pointer,
                                  [](std::uint64_t p, const Block& b) { return p < b.address; });
  if (after == blocks_) return;
  Block& block = after[-1];
  // Accepts a pointer to the end of a block, because it may point one past the block's last element.
  if (pointer - block.address > block.bytes) return;
  if (block.reach == Reach::nothing) block.reach = reach;
  block.wanted = std::min(block.wanted, pointer - block.address);
}

void SavedMemory::follow(std::span<const std::byte> words, Reach reach) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= words.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    memcpy(&word, words.data() + at, sizeof word);
    if (word >= lowest_ && word <= highest_) [[unlikely]]
      note(word, reach);
  }
}

// Saves small blocks first, because a large one, such as the segment of a pool, might leave no budget for them.
void SavedMemory::save(Reach reach) {
  const std::uint64_t small = left_ / 8;
  for (const bool large : {false, true}) {
    for (std::size_t i = 0; i < count_; ++i) {
      Block& block = blocks_[i];
      if (block.reach != reach || block.saved > 0 || block.unsaved != Unsaved::no) continue;
      if ((block.bytes > small) == large)
        save_block(block, static_cast<std::uint32_t>(i), !large, reach == Reach::parameter);
    }
  }
}

SavedMemory::Block SavedMemory::save_global(std::uint64_t address, std::uint64_t bytes, std::uint32_t number) {
  Block block = {address, bytes, 0, 0, 0, Kind::none, Reach::module, Unsaved::no};
  save_block(block, number, true, true);
  return block;
}

// If a block does not fit, saves only a part of it. The part begins at the lowest address in the block to which a
// pointer points, such as a tensor in a pool's segment.
void SavedMemory::save_block(Block& block, std::uint32_t number, bool whole, bool follows) {
  const std::uint64_t limit = std::min(left_, file_limit());
  std::uint64_t size = block.bytes;
  if (size > limit) {
    block.unsaved = Unsaved::limit;
    if (whole || limit == 0) return;
    block.from = std::min(block.wanted, block.bytes - limit) & ~std::uint64_t{7};
    size = limit;
  }
  char name[32];
  snprintf(name, sizeof name, "%s%u", wire::saved_launch::kMemoryPrefix, number);
  const int file = openat(folder_, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) {
    block.unsaved = Unsaved::file;
    return;
  }
  std::uint64_t done = 0;
  while (done < size) {
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(size - done, kPiece));
    if (!read(block, block.from + done, piece)) {
      block.unsaved = Unsaved::unreadable;
      break;
    }
    if (follows) follow({piece_, piece}, Reach::memory);
    if (!write(file, done, piece)) {
      block.unsaved = Unsaved::file;
      break;
    }
    done += piece;
  }
  if (ftruncate(file, static_cast<off_t>(done)) != 0) block.unsaved = Unsaved::file;
  close(file);
  block.saved = done;
  left_ -= done;
}

bool SavedMemory::read(const Block& block, std::uint64_t offset, std::size_t size) {
  const std::uint64_t address = block.address + offset;
  if (!is_of_host(block.kind)) {
    return api_->memcpy_dtoh != nullptr && api_->memcpy_dtoh(piece_, address, size) == CUDA_SUCCESS;
  }
  // Reads with a system call, because the program may have unmapped the memory.
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return false;
  const bool whole = pread(memory, piece_, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
  close(memory);
  return whole;
}

// Turns blocks of zeros into holes in the file.
bool SavedMemory::write(int file, std::uint64_t offset, std::size_t size) const {
  constexpr std::size_t kHole = std::size_t{64} << 10;
  for (std::size_t at = 0; at < size; at += kHole) {
    const std::size_t length = std::min(kHole, size - at);
    const std::byte* bytes = piece_ + at;
    if (bytes[0] == std::byte{0} && memcmp(bytes, bytes + 1, length - 1) == 0) continue;
    for (std::size_t done = 0; done < length;) {
      const ssize_t written = pwrite(file, bytes + done, length - done, static_cast<off_t>(offset + at + done));
      if (written <= 0) return false;
      done += static_cast<std::size_t>(written);
    }
  }
  return true;
}

}  // namespace cudadiag::record
