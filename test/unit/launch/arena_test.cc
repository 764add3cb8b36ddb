#include "launch/arena.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <variant>

#include "wire/area.h"

using namespace cudadiag;
using launch::Arena;

namespace {

Arena made() {
  auto arena = Arena::create();
  REQUIRE(std::holds_alternative<Arena>(arena));
  return std::move(std::get<Arena>(arena));
}

bool can_attach(const session::LivePlace& place) { return std::holds_alternative<Arena>(Arena::attach(place)); }

}  // namespace

TEST_CASE("an arena can be opened by its path") {
  const Arena arena = made();
  const auto found = Arena::attach(arena.place());
  REQUIRE(std::holds_alternative<Arena>(found));
  CHECK(std::get<Arena>(found).claimed() == 0);
  CHECK(launch::LiveArea(std::get<Arena>(found), 0).bytes().size() == wire::area::kAreaSize);
}

TEST_CASE("the file at that path must be that very arena") {
  const Arena arena = made();
  session::LivePlace place = arena.place();
  ++place.inode;
  CHECK(!can_attach(place));
  place = arena.place();
  place.descriptor = 0;
  CHECK(!can_attach(place));
  place.pid = 0x3fffffff;
  CHECK(!can_attach(place));
}

TEST_CASE("an arena that is closed to new processes can still be read") {
  const Arena arena = made();
  arena.close_to_others();
  CHECK(can_attach(arena.place()));
}

TEST_CASE("a memory file that could shrink while it is read is not an arena") {
  const base::FileDescriptor file(::memfd_create("cudadiag-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(file.get(), 1 << 20) == 0);
  struct stat status {};
  REQUIRE(::fstat(file.get(), &status) == 0);
  const session::LivePlace place{static_cast<std::uint32_t>(::getpid()), file.get(), status.st_ino};
  CHECK(!can_attach(place));
  // The file is sealed, but empty.
  ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK);
  CHECK(!can_attach(place));
}
