#include "evidence/elf_image.h"

#include <algorithm>
#include <limits>

namespace cudadiag::evidence {
namespace {

constexpr std::uint64_t kSectionHeader = 64;
constexpr std::uint16_t kIndexElsewhere = 0xffff;  // SHN_XINDEX: the index is in the first section header

bool is_cuda_elf(Bytes file) {
  constexpr std::uint32_t kMagic = 0x464c457f;
  constexpr std::uint16_t k64BitLittleEndian = 0x0102;
  return file.size() >= 64 && file.u32(0) == kMagic && file.u16(4) == k64BitLittleEndian &&
         file.u16(18) == kCudaMachine;
}

}  // namespace

std::optional<ElfImage> ElfImage::read(Bytes file) {
  if (!is_cuda_elf(file)) return std::nullopt;
  ElfImage image;
  image.file_ = file;
  image.headers_ = file.slice(file.u64(40), std::numeric_limits<std::uint64_t>::max());
  image.header_size_ = file.u16(58);
  if (image.header_size_ < kSectionHeader) return image;
  const std::uint64_t there =
      std::min<std::uint64_t>(image.headers_.size() / image.header_size_, std::numeric_limits<std::uint32_t>::max());
  // Counts that do not fit into the file header are stored in the first section header.
  image.count_ = 1;
  const Section first = image.section(0);
  std::uint64_t count = file.u16(60);
  if (count == 0) count = first.size;
  std::uint32_t names = file.u16(62);
  if (names == kIndexElsewhere) names = first.link;

  image.count_ = static_cast<std::uint32_t>(std::min(count, there));
  image.missing_ = count - image.count_;
  image.names_ = image.contents(image.section(names));
  return image;
}

Section ElfImage::section(std::uint32_t index) const {
  if (index >= count_) return {};
  const Bytes h = headers_.slice(index * header_size_, header_size_);
  return {.name = h.u32(0),
          .type = h.u32(4),
          .address = h.u64(16),
          .offset = h.u64(24),
          .size = h.u64(32),
          .entry_size = h.u64(56),
          .link = h.u32(40),
          .info = h.u32(44)};
}

bool ElfImage::whole(const Section& section) const {
  return section.type == elf::kNoBits || file_.holds(section.offset, section.size);
}

Bytes ElfImage::contents(const Section& section) const {
  if (section.type == elf::kNoBits) return {};
  return file_.slice(section.offset, section.size);
}

std::optional<Section> ElfImage::named(std::string_view name) const {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Section found = section(i);
    if (names_.has_text(found.name, name)) return found;
  }
  return std::nullopt;
}

}  // namespace cudadiag::evidence
