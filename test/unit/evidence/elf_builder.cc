#include "unit/evidence/elf_builder.h"

#include <algorithm>
#include <cstring>

namespace cudadiag::evidence {
namespace {

std::string section_header(const Part& part, std::size_t name, std::size_t offset) {
  return RowBuilder(64)
      .u32(0, static_cast<std::uint32_t>(name))
      .u32(4, part.type)
      .u64(24, offset)
      .u64(32, part.data.size())
      .u32(40, part.link)
      .u32(44, part.info)
      .u64(56, part.entry_size);
}

}  // namespace

RowBuilder& RowBuilder::put(std::size_t offset, const void* value, std::size_t size) {
  if (offset + size <= bytes_.size()) std::memcpy(bytes_.data() + offset, value, size);  // shorter rows lack the field
  return *this;
}

std::uint32_t ElfBuilder::add(Part part) {
  parts_.push_back(std::move(part));
  return static_cast<std::uint32_t>(parts_.size());
}

ElfBuilder ElfBuilder::reversed() const {
  ElfBuilder other = *this;
  std::reverse(other.parts_.begin(), other.parts_.end());
  for (Part& part : other.parts_) {
    if (part.link != 0) part.link = static_cast<std::uint32_t>(parts_.size()) + 1 - part.link;
  }
  return other;
}

std::string ElfBuilder::bytes() const {
  std::vector<Part> parts = parts_;
  std::string names(1, '\0');
  std::vector<std::size_t> name_offsets;
  parts.push_back({.name = ".shstrtab", .type = 3});
  for (const Part& part : parts) {
    name_offsets.push_back(names.size());
    names += part.name + '\0';
  }
  parts.back().data = names;

  std::string data, headers(64, '\0');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    headers += section_header(parts[i], name_offsets[i], 64 + data.size());
    data += parts[i].data;
  }
  const std::string file_header = RowBuilder(64)
                                      .u32(0, 0x464c457f)
                                      .u32(4, 0x33010102)
                                      .u16(16, type_)
                                      .u16(18, 0xbe)
                                      .u64(40, 64 + data.size())
                                      .u16(58, 64)
                                      .u16(60, static_cast<std::uint16_t>(parts.size() + 1))
                                      .u16(62, static_cast<std::uint16_t>(parts.size()));
  return file_header + data + headers;
}

}  // namespace cudadiag::evidence
