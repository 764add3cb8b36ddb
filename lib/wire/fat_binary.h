// Fat binaries of device code, as nvcc 13.0 writes them. The recorder finds code in them, and stores a compressed entry
// as it is, because decompression needs a library of the system. The analysis decompresses it.
//
// A fat binary begins with: magic (4 bytes), version (2), size of this header (2), size of the remainder (8). Entries
// follow. Each has a header, followed by its code:
//
//    0      2      4             8        16                20   24      28             32         36        40
//    +------+------+-------------+--------+-----------------+----+-------+--------------+----------+---------+
//    | kind | 0x101| header size | bytes  | compressed size | 0  | version | architecture | name at| length  |
//    +------+------+-------------+--------+-----------------+----+-------+--------------+----------+---------+
//    40      48  56                  64
//    +-------+---+-------------------+
//    | flags | 0 | size decompressed |
//    +-------+---+-------------------+
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace cudadiag::wire::fat_binary {

using Bytes = std::span<const std::byte>;

enum class EntryKind : std::uint16_t { text = 1, cubin = 2 };
inline constexpr std::uint32_t kMagic = 0xba55ed50;

struct Entry {
  EntryKind kind;
  std::uint32_t header, compressed, architecture;  // architecture: such as 90
  std::uint64_t bytes, flags, decompressed;

  bool is_lz4() const { return (flags & 0x2000) != 0; }
  bool is_compressed() const { return (flags & (0x2000 | 0x8000)) != 0; }  // 0x8000: Zstandard
};

template <typename T>
bool read(Bytes bytes, std::uint64_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return true;
}

inline Bytes part(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return {bytes.data() + offset, static_cast<std::size_t>(size)};
}

inline bool read(Bytes bytes, std::uint64_t at, Entry& entry) {
  return read(bytes, at, entry.kind) && read(bytes, at + 4, entry.header) && read(bytes, at + 8, entry.bytes) &&
         read(bytes, at + 16, entry.compressed) && read(bytes, at + 28, entry.architecture) &&
         read(bytes, at + 40, entry.flags) && read(bytes, at + 56, entry.decompressed);
}

// Calls `visit` with each entry of a fat binary, and with the bytes of its header and code.
template <typename Visit>
void each_entry(Bytes bytes, Visit visit) {
  std::uint16_t header = 0;
  Entry entry{};
  if (!read(bytes, 6, header)) return;
  for (std::uint64_t at = header; read(bytes, at, entry); at += entry.header + entry.bytes) {
    const Bytes all = part(bytes, at, entry.header + entry.bytes);
    if (entry.header == 0 || entry.bytes > bytes.size() || all.size() <= entry.header) return;
    visit(entry, all);
  }
}

// Returns the size of the code of a compressed entry; 0 if the entry is damaged or its code is larger than `most`.
inline std::size_t size_decompressed(const Entry& entry, std::size_t most) {
  return entry.decompressed > most || entry.compressed > std::min<std::uint64_t>(entry.bytes, most)
             ? 0
             : static_cast<std::size_t>(entry.decompressed);
}

// The system's library that decompresses an entry, and its function. Open the library only for this purpose, because
// the recorder must not depend on it.
inline const char* library_for(const Entry& entry) { return entry.is_lz4() ? "liblz4.so.1" : "libzstd.so.1"; }
inline const char* function_for(const Entry& entry) {
  return entry.is_lz4() ? "LZ4_decompress_safe" : "ZSTD_decompress";
}

// `all` is a compressed entry, and `to` has size_decompressed() bytes. Returns false if `function` is null.
inline bool decompress(const Entry& entry, Bytes all, std::span<std::byte> to, void* function) {
  const Bytes from = part(all, entry.header, entry.compressed);
  if (from.empty() || function == nullptr) return false;
  if (!entry.is_lz4()) {
    using Zstandard = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
    return reinterpret_cast<Zstandard>(function)(to.data(), to.size(), from.data(), from.size()) == to.size();
  }
  using Lz4 = int (*)(const char*, char*, int, int);
  const int size =
      reinterpret_cast<Lz4>(function)(reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to.data()),
                                      static_cast<int>(from.size()), static_cast<int>(to.size()));
  return size >= 0 && static_cast<std::size_t>(size) == to.size();
}

}  // namespace cudadiag::wire::fat_binary
