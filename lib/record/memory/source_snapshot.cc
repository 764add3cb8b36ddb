#include "record/memory/source_snapshot.h"

#include <string.h>

#include <algorithm>

#include "record/readable.h"

namespace cudadiag::record {

namespace {

constexpr std::size_t kPage = 4096;  // the smallest page size

// Copies memory page by page. Returns false if a page is not readable.
bool read(std::uint64_t address, std::size_t bytes, std::byte* to) {
  while (bytes > 0) {
    const std::size_t here = std::min(bytes, kPage - address % kPage);
    if (!is_readable(address & ~std::uint64_t{7})) return false;
    memcpy(to, reinterpret_cast<const void*>(address), here);
    address += here, to += here, bytes -= here;
  }
  return true;
}

void note(SourceSnapshot::Difference& difference, std::uint64_t address) {
  if (difference.bytes == 0 || address < difference.begin) difference.begin = address;
  difference.end = std::max(difference.end, address + 1);
  ++difference.bytes;
}

}  // namespace

void SourceSnapshot::add(std::uint64_t address, std::uint64_t bytes) {
  low_ = count_ == 0 ? address : std::min(low_, address);
  high_ = count_ == 0 ? address + bytes : std::max(high_, address + bytes);
  pieces_[count_++] = {address, bytes};
}

void SourceSnapshot::choose_all(const SourceRows* sources, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::uint64_t row = 0; row < sources[i].rows; ++row) {
      add(sources[i].address + row * sources[i].pitch, sources[i].width);
    }
  }
}

// `total` is the number of bytes in all sources, without the gaps between rows.
void SourceSnapshot::choose_samples(const SourceRows* sources, std::size_t count, std::uint64_t total) {
  const std::uint64_t last = total - (total > kRoom ? kSample : 1);
  std::size_t source = 0;
  std::uint64_t before = 0;  // total bytes of the sources in front of `source`
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    const std::uint64_t wanted = last / (kSamples - 1) * i + last % (kSamples - 1) * i / (kSamples - 1);
    while (source + 1 < count && wanted - before >= sources[source].width * sources[source].rows) {
      before += sources[source].width * sources[source].rows;
      ++source;
    }
    const SourceRows& from = sources[source];
    const std::uint64_t row = (wanted - before) / from.width, column = (wanted - before) % from.width;
    add(from.address + row * from.pitch + column, std::min<std::uint64_t>(kSample, from.width - column));
  }
}

bool SourceSnapshot::take(const SourceRows* sources, std::size_t count) {
  count_ = 0;
  compared_ = false;
  std::uint64_t total = 0, rows = 0;
  for (std::size_t i = 0; i < count; ++i) {
    total += sources[i].width * sources[i].rows;
    rows += sources[i].rows;
  }
  if (total == 0) return false;
  sampled_ = total > kRoom || rows > kMostPieces;
  sampled_ ? choose_samples(sources, count, total) : choose_all(sources, count);
  std::byte* to = first_;
  for (std::size_t i = 0; i < count_; to += pieces_[i++].bytes) {
    if (!read(pieces_[i].address, pieces_[i].bytes, to)) return false;
  }
  return true;
}

bool SourceSnapshot::compare(Difference& difference) {
  difference = {};
  std::byte now[kPage];
  std::size_t at = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t done = 0; done < pieces_[i].bytes;) {
      const std::size_t here = std::min(pieces_[i].bytes - done, kPage);
      const std::uint64_t address = pieces_[i].address + done;
      if (!read(address, here, now)) return false;
      const std::byte *first = first_ + at, *last = compared_ ? last_ + at : first;
      const bool moved = memcmp(now, last, here) != 0;
      difference.since_last |= moved;
      if (moved || memcmp(now, first, here) != 0) {
        for (std::size_t k = 0; k < here; ++k) {
          if (now[k] != first[k] || now[k] != last[k]) note(difference, address + k);
        }
      }
      memcpy(last_ + at, now, here);
      done += here, at += here;
    }
  }
  compared_ = true;
  return true;
}

}  // namespace cudadiag::record
