// Opens a GPU core dump on disk. Maps it into memory, after unpacking it if it is compressed.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/files.h"
#include "evidence/core_facts.h"

namespace cudadiag::evidence {
namespace {

// Maps the file, so that only pages in use are read. Reading a dump that contains all GPU memory then costs no more
// than reading its tables.
class Mapping {
 public:
  Mapping(const base::FileDescriptor& file, std::size_t size)
      : size_(size), data_(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0)) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (valid()) ::munmap(data_, size_);
  }
  bool valid() const { return data_ != MAP_FAILED; }
  Bytes bytes() const { return {data_, size_}; }

 private:
  std::size_t size_;
  void* data_;
};

std::string why() { return std::strerror(errno); }

// Unpacks into `to`. If the archive is truncated, unpacks the part that exists.
std::variant<std::uint64_t, Unreadable> unpack(const base::FileDescriptor& from, const base::FileDescriptor& to,
                                               const std::string& name, std::uint64_t limit) {
  const int copy = ::dup(from.get());
  const std::unique_ptr<gzFile_s, decltype(&gzclose)> in(copy < 0 ? nullptr : gzdopen(copy, "rb"), &gzclose);
  if (!in) {
    if (copy >= 0) ::close(copy);
    return Unreadable{name + " cannot be unpacked: " + why(), ""};
  }
  std::array<char, 64 << 10> buffer;
  std::uint64_t total = 0;
  while (true) {
    const int count = gzread(in.get(), buffer.data(), buffer.size());
    // zlib 1.3.2 reports no error if the data of an archive is damaged from its first byte on.
    if (count <= 0 && total == 0) return Unreadable{name + " unpacks to nothing", "check it with gunzip --test"};
    if (count <= 0) return total;
    total += static_cast<std::uint64_t>(count);
    if (total > limit) {
      return Unreadable{name + " unpacks to more than " + std::to_string(limit) + " bytes",
                        "unpack it with gunzip and pass the unpacked file instead"};
    }
    if (!base::write_all(to.get(), {buffer.data(), static_cast<std::size_t>(count)})) {
      return Unreadable{name + " cannot be unpacked: " + why(),
                        "unpack it with gunzip and pass the unpacked file instead"};
    }
  }
}

// Returns whether this is a host core dump: an ELF file of type ET_CORE for a host processor. Users may pass one by
// mistake.
bool is_host_core(const Bytes& bytes) {
  const std::uint16_t machine = bytes.u16(18);
  return bytes.all().starts_with(std::string_view(ELFMAG, SELFMAG)) && bytes.u16(16) == ET_CORE &&
         (machine == EM_X86_64 || machine == EM_AARCH64);
}

std::variant<CoreFacts, Unreadable> read_mapped(const base::FileDescriptor& file, std::uint64_t size,
                                                const std::string& name) {
  const Unreadable foreign{name + " is not a GPU core dump",
                           "to make the driver write one, set CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1"};
  if (size == 0) return Unreadable{name + " is empty", foreign.hint};
  const Mapping mapping(file, size);
  if (!mapping.valid()) return Unreadable{name + " cannot be mapped: " + why(), ""};
  auto facts = examine(mapping.bytes());
  if (!facts && is_host_core(mapping.bytes())) {
    return Unreadable{name + " is a CPU core dump, not a GPU core dump", "open it with gdb PROGRAM " + name};
  }
  if (!facts) return foreign;
  if (facts->damaged > 0 && facts->devices.empty() && !facts->failure) {
    return Unreadable{name + " is truncated or damaged: none of its tables can be read",
                      "give the driver more time or disk space to finish the dump"};
  }
  return std::move(*facts);
}

}  // namespace

bool is_gzip(int file) {
  std::array<unsigned char, 2> magic{};
  return ::pread(file, magic.data(), magic.size(), 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

std::variant<CoreFacts, Unreadable> read_core(const std::filesystem::path& path, std::uint64_t largest_unpacked) {
  const std::string name = path.string();
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return Unreadable{name + " cannot be read: " + why(), ""};
  if (!S_ISREG(status.st_mode)) return Unreadable{name + " is not a regular file", ""};
  if (!is_gzip(file.get())) return read_mapped(file, static_cast<std::uint64_t>(status.st_size), name);
  const base::FileDescriptor plain(::memfd_create("gpu core dump", MFD_CLOEXEC));
  if (!plain.valid()) return Unreadable{name + " cannot be unpacked: " + why(), ""};
  const auto unpacked = unpack(file, plain, name, largest_unpacked);
  if (const auto* failure = std::get_if<Unreadable>(&unpacked)) return *failure;
  return read_mapped(plain, std::get<std::uint64_t>(unpacked), name);
}

}  // namespace cudadiag::evidence
