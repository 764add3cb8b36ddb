// Saves the bytes of a copy's source, to compare them with the bytes at a later time. A source of at most kRoom bytes
// in at most kMostPieces rows is saved completely. From a larger source, kSamples pieces of kSample bytes are saved,
// spread evenly.
//
// The memory belongs to the program, which may have unmapped it, so each page is probed first. The class takes no
// locks, and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudadiag::record {

struct SourceRows {
  std::uint64_t address = 0, width = 0, pitch = 0, rows = 1;

  std::uint64_t end() const { return address + pitch * (rows - 1) + width; }
};

class SourceSnapshot {
 public:
  static constexpr std::size_t kRoom = 1u << 20, kMostPieces = 1024, kSamples = 256, kSample = 4096;

  // Returns false if a part of the source cannot be read.
  bool take(const SourceRows* sources, std::size_t count);
  // Returns true if only samples were saved.
  bool sampled() const { return sampled_; }
  bool meets(std::uint64_t begin, std::uint64_t end) const { return low_ < end && begin < high_; }

  struct Difference {
    bool since_last = false;           // true if something changed after the previous comparison
    std::uint64_t begin = 0, end = 0;  // from the first to the last byte that changed since the snapshot
    std::uint64_t bytes = 0;
  };
  // Returns false if a part of the source cannot be read.
  bool compare(Difference& difference);

 private:
  struct Piece {
    std::uint64_t address;
    std::size_t bytes;
  };

  void choose_all(const SourceRows* sources, std::size_t count);
  void choose_samples(const SourceRows* sources, std::size_t count, std::uint64_t total);
  void add(std::uint64_t address, std::uint64_t bytes);

  std::size_t count_;
  bool sampled_, compared_;
  std::uint64_t low_, high_;
  Piece pieces_[kMostPieces];
  std::byte first_[kRoom], last_[kRoom];  // contents of all pieces, one after another
};

}  // namespace cudadiag::record
