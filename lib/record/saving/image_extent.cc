#include "record/saving/image_extent.h"

#include <elf.h>
#include <string.h>

#include <algorithm>
#include <cstdint>

namespace cudadiag::record {

namespace {

using wire::saved_launch::Image;

constexpr std::uint32_t kWrapperMagic = 0x466243b1;  // __fatBinC_Wrapper_t of the toolkit's fatbinary_section.h
constexpr std::uint32_t kFatbinMagic = 0xba55ed50;
constexpr std::size_t kMostBytes = std::size_t{1} << 31;

template <typename T>
T at(const std::byte* place, std::size_t offset = 0) {
  T value;
  memcpy(&value, place + offset, sizeof value);
  return value;
}

// Returns the offset at which the last part of the file ends: the section headers, the program headers or the contents
// of a section.
std::size_t elf_size(const std::byte* image) {
  const auto header = at<Elf64_Ehdr>(image);
  std::uint64_t end = sizeof header;
  end = std::max<std::uint64_t>(end, header.e_shoff + std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  end = std::max<std::uint64_t>(end, header.e_phoff + std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (end > kMostBytes) return 0;
  for (std::size_t i = 0; header.e_shentsize == sizeof(Elf64_Shdr) && i < header.e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type == SHT_NOBITS || section.sh_offset > kMostBytes || section.sh_size > kMostBytes) continue;
    end = std::max<std::uint64_t>(end, section.sh_offset + section.sh_size);
  }
  return end > kMostBytes ? 0 : end;
}

// A fat binary begins with: magic (4 bytes), version (2), size of the header (2), size of the remainder (8).
std::size_t fatbin_size(const std::byte* image) {
  const auto header = at<std::uint16_t>(image, 6);
  const auto rest = at<std::uint64_t>(image, 8);
  return rest > kMostBytes ? 0 : header + rest;
}

bool begins_text(std::byte first) {
  const auto c = static_cast<unsigned char>(first);
  return (c >= 0x20 && c < 0x7f) || (c >= '\t' && c <= '\r');
}

}  // namespace

ImageExtent image_extent(const void* code) {
  const auto* image = static_cast<const std::byte*>(code);
  if (image == nullptr) return {};
  if (!begins_text(*image) && *image != std::byte{ELFMAG0} && *image != std::byte{0x50} && *image != std::byte{0xb1}) {
    return {};
  }
  if (at<std::uint32_t>(image) == kWrapperMagic) {
    image = at<const std::byte*>(image, 8);
    if (image == nullptr || at<std::uint32_t>(image) != kFatbinMagic) return {};
  }
  std::size_t size = 0;
  Image form = Image::text;
  if (at<std::uint32_t>(image) == kFatbinMagic) {
    form = Image::fatbin;
    size = fatbin_size(image);
  } else if (memcmp(image, ELFMAG, SELFMAG) == 0) {
    form = Image::cubin;
    size = elf_size(image);
  } else if (begins_text(*image)) {
    size = strnlen(reinterpret_cast<const char*>(image), kMostBytes);
  }
  return size == 0 ? ImageExtent() : ImageExtent{image, size, form};
}

}  // namespace cudadiag::record
