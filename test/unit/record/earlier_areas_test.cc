#include "record/output/earlier_areas.h"

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

#include "unit/scratch_folder.h"
#include "wire/area.h"

namespace fs = std::filesystem;
namespace area = cudadiag::wire::area;
namespace wire = cudadiag::wire;
using area::State;
using cudadiag::record::kMostAreaFiles;
using cudadiag::record::remove_earlier_areas;
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
