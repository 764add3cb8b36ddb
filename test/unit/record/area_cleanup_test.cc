#include "record/output/area_cleanup.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "unit/scratch_folder.h"
#include "wire/area.h"

namespace fs = std::filesystem;
namespace area = cudadiag::wire::area;
namespace arena = cudadiag::wire::arena;
namespace wire = cudadiag::wire;
using area::State;
using cudadiag::record::kMostAreaFiles;
using cudadiag::record::lock_area;
using cudadiag::record::remove_earlier_areas;
using cudadiag::record::take_over_area;
using cudadiag::test::ScratchFolder;

namespace {

constexpr std::uint32_t kNobody = 0x7fffffff;  // larger than any pid of Linux

struct Shape {
  State state = State::finished;
  std::uint32_t exit_status = 1;  // wire::area::kExitStatus
  std::uint32_t pid = kNobody;
  std::uint64_t removed = 0;
};

class Folder {
 public:
  // Each further area is of a later process.
  fs::path area(const std::string& name, const Shape& shape = {}) {
    std::array<std::byte, area::kHeaderSize> header{};
    wire::store(header.data(), area::kMagic, area::kMagicValue);
    wire::store(header.data(), area::kState, static_cast<std::uint32_t>(shape.state));
    wire::store(header.data(), area::kExitStatus, shape.exit_status);
    wire::store(header.data(), area::kPid, shape.pid);
    wire::store(header.data(), area::kStartRealtime, starts_[name] = ++time_);
    wire::store(header.data(), area::kEarlierRemoved, shape.removed);
    return write(name, std::string(reinterpret_cast<const char*>(header.data()), header.size()));
  }
  fs::path write(const std::string& name, const std::string& content) {
    std::ofstream(path() / name, std::ios::binary) << content;
    return path() / name;
  }
  std::string dump_of(const std::string& area_name) const {
    return std::to_string(kNobody) + "-" + std::to_string(starts_.at(area_name)) + ".gpucore";
  }
  // Adds well-ended areas of the pids 1000, 1001 and so on.
  void fill(unsigned count) {
    for (unsigned i = 0; i < count; ++i) area(std::to_string(1000 + i) + ".area");
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path())) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }
  fs::path path() const { return scratch_.path(); }

 private:
  ScratchFolder scratch_;
  std::uint64_t time_ = 0;
  std::map<std::string, std::uint64_t> starts_;
};

}  // namespace

TEST_CASE("a folder with room for another area stays as it is") {
  Folder folder;
  folder.fill(kMostAreaFiles - 1);
  CHECK(remove_earlier_areas(folder.path().c_str()) == 0);
  CHECK(folder.names().size() == kMostAreaFiles - 1);
}

TEST_CASE("the oldest areas make room for another one, with their core dumps") {
  Folder folder;
  const fs::path second = folder.area("7-2.area"), first_by_name = folder.area("1.area");
  folder.fill(kMostAreaFiles - 1);
  const fs::path dump = folder.write(folder.dump_of("7-2.area"), "dump");
  const fs::path other_dump = folder.write(folder.dump_of("1014.area"), "dump");
  CHECK(remove_earlier_areas(folder.path().c_str()) == 2);
  CHECK_FALSE(fs::exists(second));
  CHECK_FALSE(fs::exists(dump));
  CHECK_FALSE(fs::exists(first_by_name));
  CHECK(fs::exists(other_dump));
  CHECK(folder.names().size() == kMostAreaFiles);  // one of them is the dump
}

TEST_CASE("processes that ended well go first, then those that were cut off, then failures") {
  Folder folder;
  const fs::path frozen = folder.area("1.area", {State::frozen, 0}),
                 exited = folder.area("2.area", {State::finished, 2});
  const fs::path killed = folder.area("3.area", {State::recording, 0});
  folder.fill(kMostAreaFiles - 3);
  unsigned next = 2000;
  const auto start_others = [&](unsigned count) {
    for (const unsigned end = next + count; next < end; ++next) {
      remove_earlier_areas(folder.path().c_str());
      folder.area(std::to_string(next) + ".area", {State::frozen, 0});
    }
  };
  start_others(kMostAreaFiles - 3);
  CHECK(fs::exists(frozen));
  CHECK(fs::exists(exited));
  CHECK(fs::exists(killed));
  start_others(1);
  CHECK_FALSE(fs::exists(killed));
  CHECK(fs::exists(frozen));
  start_others(1);
  CHECK_FALSE(fs::exists(frozen));
  CHECK(fs::exists(exited));
  CHECK(folder.names().size() <= kMostAreaFiles);
}

TEST_CASE("a process keeps its area as long as it lives") {
  Folder folder;
  const auto is_removed = [&](const fs::path& file) {
    folder.fill(kMostAreaFiles - 1);
    remove_earlier_areas(folder.path().c_str());
    return !fs::exists(file);
  };
  SUBCASE("its mapping holds the lock after the file was closed") {
    const fs::path file = folder.area("1.area", {.pid = static_cast<std::uint32_t>(::getpid())});
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    cudadiag::record::mark_alive(descriptor);
    void* mapped = ::mmap(nullptr, area::kHeaderSize, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    REQUIRE(mapped != MAP_FAILED);
    ::close(descriptor);
    CHECK_FALSE(is_removed(file));
    ::munmap(mapped, area::kHeaderSize);
    CHECK(is_removed(file));
  }
  SUBCASE("its pid exists, and the file system kept no lock") {
    CHECK_FALSE(is_removed(folder.area("1.area", {.pid = static_cast<std::uint32_t>(::getppid())})));
  }
}

TEST_CASE("only regular files that are areas are counted and removed") {
  Folder folder;
  const ScratchFolder outside;
  folder.fill(kMostAreaFiles - 1);
  const fs::path precious = outside.file("precious", "mine");
  Folder elsewhere;
  const fs::path other = elsewhere.area("5.area");
  std::vector<fs::path> strange = {folder.write("1.area", std::string(area::kHeaderSize, 'm')), folder.area("x.area"),
                                   folder.area("1-2-3.area"), folder.area("1.area.new"), folder.area("-1.area")};
  fs::create_symlink(other, strange.emplace_back(folder.path() / "2.area"));
  fs::create_directory(strange.emplace_back(folder.path() / "3.area"));
  REQUIRE(::mkfifo(strange.emplace_back(folder.path() / "4.area").c_str(), 0600) == 0);
  CHECK(remove_earlier_areas(folder.path().c_str()) == 0);
  folder.fill(kMostAreaFiles);
  fs::create_symlink(precious, folder.path() / folder.dump_of("1000.area"));
  CHECK(remove_earlier_areas(folder.path().c_str()) == 1);
  for (const fs::path& each : strange) CHECK(fs::exists(fs::symlink_status(each)));
  CHECK(fs::exists(precious));
  CHECK(fs::exists(other));
  CHECK_FALSE(fs::exists(folder.path() / "1000.area"));

  elsewhere.fill(kMostAreaFiles);
  fs::create_directory_symlink(elsewhere.path(), outside.path() / "link");
  CHECK(remove_earlier_areas((outside.path() / "link").c_str()) == 0);
  CHECK(elsewhere.names().size() == kMostAreaFiles + 1);
  CHECK(remove_earlier_areas((outside.path() / "missing").c_str()) == 0);
}

TEST_CASE("the count continues that of the earlier processes") {
  Folder folder;
  folder.fill(kMostAreaFiles - 1);
  folder.area("1.area", {.removed = 40});
  folder.area("2.area", {.removed = 39});
  CHECK(remove_earlier_areas(folder.path().c_str()) == 42);
}

TEST_CASE("a folder that is far too large shrinks to the limit") {
  Folder folder;
  folder.fill(70);
  CHECK(remove_earlier_areas(folder.path().c_str()) == 55);
  CHECK(folder.names().size() == kMostAreaFiles - 1);
}

namespace {

using cudadiag::base::FileDescriptor;

// An arena whose claimed areas belong to processes that have ended well.
class EndedArena {
 public:
  EndedArena(std::uint32_t areas, std::uint32_t claimed) : file_(::memfd_create("test", MFD_CLOEXEC)) {
    REQUIRE(::ftruncate(file_.get(), begin(areas)) == 0);
    header_ = static_cast<std::byte*>(
        ::mmap(nullptr, arena::kHeaderSize, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0));
    REQUIRE(header_ != MAP_FAILED);
    wire::store(header_, arena::kAreas, areas);
    wire::store(header_, arena::kClaimed, claimed);
    wire::store(header_, arena::kReusedFrom, std::uint32_t{2});
    for (std::uint32_t index = 0; index < claimed; ++index) {
      set(index, area::kMagic, area::kMagicValue);
      set(index, area::kState, static_cast<std::uint32_t>(State::finished));
      set(index, area::kExitStatus, std::uint32_t{1});
      set(index, arena::kHeld, arena::kLocked);
    }
  }
  ~EndedArena() { ::munmap(header_, arena::kHeaderSize); }
  EndedArena(const EndedArena&) = delete;
  EndedArena& operator=(const EndedArena&) = delete;

  template <typename T, std::size_t Offset>
  void set(std::uint32_t index, wire::Field<T, Offset>, T value) const {
    REQUIRE(::pwrite(file_.get(), &value, sizeof value, begin(index) + static_cast<off_t>(Offset)) == sizeof value);
  }
  std::uint64_t magic(std::uint32_t index) const {
    std::uint64_t found = 0;
    REQUIRE(::pread(file_.get(), &found, sizeof found, begin(index)) == sizeof found);
    return found;
  }
  // Opens the arena again, as another process does.
  FileDescriptor open() const {
    return FileDescriptor(::open(("/proc/self/fd/" + std::to_string(file_.get())).c_str(), O_RDWR | O_CLOEXEC));
  }
  std::byte* header() const { return header_; }

 private:
  static off_t begin(std::uint32_t index) {
    return static_cast<off_t>(arena::kHeaderSize + std::size_t{index} * area::kAreaSize);
  }
  FileDescriptor file_;
  std::byte* header_ = nullptr;
};

}  // namespace

TEST_CASE("a process takes over the area of one that ended well, and empties and locks it") {
  const EndedArena shared(4, 3);
  const auto first = shared.open(), second = shared.open();
  CHECK(take_over_area(first.get(), shared.header()) == 0u);
  CHECK(shared.magic(0) == 0);
  CHECK(take_over_area(second.get(), shared.header()) == 1u);
  CHECK(shared.magic(2) == area::kMagicValue);
  CHECK(wire::load(shared.header(), arena::kForgotten) == 0);
}

TEST_CASE("an area is locked for as long as its process maps it") {
  const EndedArena shared(4, 2);
  auto owner = shared.open();
  REQUIRE(lock_area(owner.get(), 0));
  void* mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, owner.get(), 0);
  owner = FileDescriptor();
  const auto other = shared.open();
  CHECK(take_over_area(other.get(), shared.header()) == 1u);
  CHECK_FALSE(take_over_area(other.get(), shared.header()));
  ::munmap(mapped, 4096);
  CHECK(take_over_area(other.get(), shared.header()) == 0u);
}

TEST_CASE("an area that a report may need is not taken over") {
  const EndedArena shared(2, 1);
  const auto file = shared.open();
  const auto take = [&] { return take_over_area(file.get(), shared.header()); };
  SUBCASE("few areas are claimed") {}
  SUBCASE("areas are kept") {
    wire::store(shared.header(), arena::kClaimed, std::uint32_t{2});
    wire::store(shared.header(), arena::kReusedFrom, std::uint32_t{0});
  }
  SUBCASE("it cannot be locked") {
    wire::store(shared.header(), arena::kReusedFrom, std::uint32_t{1});
    shared.set(0, arena::kHeld, std::uint32_t{0});
  }
  wire::store(shared.header(), arena::kAreas, std::uint32_t{3});
  SUBCASE("its process failed") {
    wire::store(shared.header(), arena::kReusedFrom, std::uint32_t{1});
    SUBCASE("sticky error") { shared.set(0, area::kState, static_cast<std::uint32_t>(State::frozen)); }
    SUBCASE("status") { shared.set(0, area::kExitStatus, std::uint32_t{2}); }
    SUBCASE("killed") { shared.set(0, area::kState, static_cast<std::uint32_t>(State::recording)); }
    SUBCASE("failed call") { shared.set(0, area::kErrorCount, std::uint64_t{1}); }
    SUBCASE("rank") { shared.set(0, arena::kHeld, arena::kLocked | arena::kOfRank); }
    SUBCASE("collective") { shared.set(0, area::kCollectivesCalled, std::uint64_t{1}); }
    SUBCASE("wait of a rerun") { shared.set(0, area::kWaits, std::uint64_t{1}); }
  }
  CHECK_FALSE(take());
  CHECK(shared.magic(0) == area::kMagicValue);
}

TEST_CASE("in a full arena, a process whose end is unknown makes room and is counted, but a failure stays") {
  const EndedArena shared(3, 3);
  shared.set(0, area::kState, static_cast<std::uint32_t>(State::frozen));
  shared.set(1, area::kState, static_cast<std::uint32_t>(State::recording));
  shared.set(1, area::kExitStatus, std::uint32_t{0});
  shared.set(2, area::kErrorCount, std::uint64_t{1});
  const auto file = shared.open();
  CHECK(take_over_area(file.get(), shared.header()) == 1u);
  CHECK(take_over_area(file.get(), shared.header()) == 2u);
  CHECK_FALSE(take_over_area(file.get(), shared.header()));
  CHECK(wire::load(shared.header(), arena::kForgotten) == 2);
}
