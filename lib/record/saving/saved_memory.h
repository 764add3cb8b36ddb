// The memory that a launch may use, and which parts of it are saved. A launch may use the blocks that its parameters
// point to, and the blocks that pointers in these blocks point to. Each saved launch uses a new object in fresh pages.
// The calling thread holds the gate (rerun/exclusive_wait.h), so no work is issued while memory is saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "record/cupti/driver_api.h"
#include "record/memory/allocations.h"
#include "wire/rerun/saved_launch.h"

namespace cudadiag::record {

class SavedMemory {
 public:
  struct Block {
    std::uint64_t address, bytes;
    std::uint64_t from, saved;  // offset and size of the part that is in the block's file
    std::uint64_t wanted;       // the lowest offset in the block that a pointer refers to
    wire::allocation::Kind kind;
    wire::saved_launch::Reach reach;
    wire::saved_launch::Unsaved unsaved;
  };

  // `folder` is a file descriptor. `limit` is the maximum number of bytes to save.
  void start(const SavingApi& api, const Allocations& allocations, int folder, std::uint64_t limit);

  // Notes the blocks to which the words point. Every aligned word may be a pointer.
  void follow(std::span<const std::byte> words, wire::saved_launch::Reach reach);
  // Saves the blocks that have this `reach`. For Reach::parameter, also follows the pointers in the saved blocks.
  void save(wire::saved_launch::Reach reach);
  // Saves the module's variable at this address. `number` is its block number.
  Block save_global(std::uint64_t address, std::uint64_t bytes, std::uint32_t number);

  std::uint64_t left() const { return left_; }
  std::span<const Block> blocks() const { return {blocks_, count_}; }

 private:
  static constexpr std::size_t kPiece = std::size_t{4} << 20;

  void note(std::uint64_t pointer, wire::saved_launch::Reach reach);
  // If a block does not fit, skips it if `whole` is true, and otherwise saves a part of it.
  void save_block(Block& block, std::uint32_t number, bool whole, bool follows);
  bool read(const Block& block, std::uint64_t offset, std::size_t size);
  bool write(int file, std::uint64_t offset, std::size_t size) const;

  const SavingApi* api_;
  int folder_;
  std::uint64_t left_, lowest_, highest_;
  std::size_t count_;
  Block blocks_[wire::area::kAllocations];
  alignas(64) std::byte piece_[kPiece];
};

}  // namespace cudadiag::record
