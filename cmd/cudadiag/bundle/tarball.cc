#include "bundle/tarball.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace cudadiag::command {
namespace {

constexpr std::size_t kBlock = 512;

// The fields of a ustar header and their sizes: name 100, mode 8, uid 8, gid 8, size 12, mtime 12, checksum 8, type 1,
// link 100, magic 6, version 2. The rest of the block is zero.
std::string header(const TarEntry& entry) {
  std::string block = entry.name.substr(0, 100);
  block.resize(100, '\0');
  block += std::string(
      "0000644\0"
      "0000000\0"
      "0000000\0",
      24);
  block += fmt::format("{:011o}", entry.content.size()) + '\0' + std::string("00000000000\0", 12);
  block += "        0";  // a blank checksum, then type 0: a regular file
  block.resize(257, '\0');
  block += std::string(
      "ustar\0"
      "00",
      8);
  block.resize(kBlock, '\0');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  const std::string checksum = fmt::format("{:06o}", sum) + '\0' + ' ';
  std::copy(checksum.begin(), checksum.end(), block.begin() + 148);
  return block;
}

std::string gzip(const std::string& raw) {
  z_stream stream{};
  if (raw.size() > std::numeric_limits<uInt>::max() ||
      deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  gz_header gzip_header{};
  gzip_header.os = 255;  // unknown
  deflateSetHeader(&stream, &gzip_header);
  std::string out(deflateBound(&stream, raw.size()) + 64, '\0');
  std::string input = raw;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), std::numeric_limits<uInt>::max()));
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return whole ? out : "";
}

}  // namespace

std::string tarball(const std::vector<TarEntry>& entries) {
  std::string raw;
  for (const TarEntry& entry : entries) {
    raw += header(entry) + entry.content;
    raw.resize((raw.size() + kBlock - 1) / kBlock * kBlock, '\0');
  }
  raw.resize(raw.size() + 2 * kBlock, '\0');
  return gzip(raw);
}

}  // namespace cudadiag::command
