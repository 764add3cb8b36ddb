// Builds ELF files section by section: invalid dumps, and dumps as written by drivers that we do not have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudadiag::evidence {

// A row of `size` bytes, which are zero except where numbers are stored.
class RowBuilder {
 public:
  explicit RowBuilder(std::size_t size) : bytes_(size, '\0') {}
  RowBuilder& u8(std::size_t offset, std::uint8_t value) { return put(offset, &value, sizeof value); }
  RowBuilder& u16(std::size_t offset, std::uint16_t value) { return put(offset, &value, sizeof value); }
  RowBuilder& u32(std::size_t offset, std::uint32_t value) { return put(offset, &value, sizeof value); }
  RowBuilder& u64(std::size_t offset, std::uint64_t value) { return put(offset, &value, sizeof value); }
  operator std::string() const { return bytes_; }

 private:
  RowBuilder& put(std::size_t offset, const void* value, std::size_t size);
  std::string bytes_;
};

struct Part {
  std::string name;
  std::uint32_t type = 0;
  std::string data{};
  std::uint64_t entry_size = 0;
  std::uint32_t link = 0, info = 0;
};

class ElfBuilder {
 public:
  explicit ElfBuilder(std::uint16_t type) : type_(type) {}

  // Adds a section and returns its index. Index 0 is reserved.
  std::uint32_t add(Part part);
  Part& part(std::uint32_t section) { return parts_[section - 1]; }

  // Returns the same sections in reverse order, with adjusted links.
  ElfBuilder reversed() const;
  std::string bytes() const;

 private:
  std::uint16_t type_;
  std::vector<Part> parts_;
};

}  // namespace cudadiag::evidence
