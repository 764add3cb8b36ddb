#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>

#include "session/session_folders.h"
#include "session/session_reader.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
namespace fs = std::filesystem;
using test::ScratchFolder;
using wire::unrecorded::What;

TEST_CASE("processes that could not be recorded are recognised by file names, among any other files") {
  const ScratchFolder scratch;
  CHECK(session::unrecorded_in(scratch.path()).processes == 0);
  scratch.file("4711-3-27.unrecorded");
  for (const char* other : {"4711.area", ".unrecorded", "x-3-27.unrecorded", "4711-3.unrecorded", "4711-3-27"}) {
    scratch.file(other);
  }
  const session::Unrecorded one = session::unrecorded_in(scratch.path());
  CHECK(one.processes == 1);
  CHECK(one.what == What::file);
  CHECK(one.error == EFBIG);
  scratch.file("4712-3-27.unrecorded");
  CHECK(session::unrecorded_in(scratch.path()).processes == 2);
  CHECK(session::unrecorded_in(scratch.path() / "gone").processes == 0);
}

TEST_CASE("the message says who was not recorded, why, and what to do") {
  const base::Error limit = session::nothing_recorded_of({1, What::file, EFBIG});
  CHECK(limit.what ==
        "nothing was recorded for a process that initialised CUDA: its file size limit leaves no room for the 64 MB "
        "recording");
  CHECK(limit.hint == "raise the limit (ulimit -f)");
  const base::Error refused = session::nothing_recorded_of({2, What::file, EACCES});
  CHECK(refused.what ==
        "nothing was recorded for 2 processes that initialised CUDA; the reason for one of them: no file could be "
        "created for the recording (Permission denied)");
  // A newer recorder may write a reason that this build does not know.
  CHECK(session::nothing_recorded_of({1, static_cast<What>(9), EPERM}).what ==
        "nothing was recorded for a process that initialised CUDA: the recorder could not start in it (Operation not "
        "permitted)");
}

TEST_CASE("a session that contains only the mark of an unrecorded process is a session, and says so first") {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path() / "19700101-000000-4711.incomplete";
  scratch.file("19700101-000000-4711.incomplete/record/4711-3-27.unrecorded");
  CHECK_FALSE(session::is_blank(folder));
  const auto found = session::find_session({{scratch.path(), false, ""}}, "");
  REQUIRE(std::holds_alternative<fs::path>(found));
  CHECK(std::get<fs::path>(found) == folder);
  const auto opened = session::open_session(folder);
  REQUIRE(std::holds_alternative<session::Session>(opened));
  const auto& session = std::get<session::Session>(opened);
  CHECK_FALSE(session.whole);
  REQUIRE_FALSE(session.manifest.notes.empty());
  CHECK(session.manifest.notes.front() ==
        "nothing was recorded for a process that initialised CUDA: its file size limit leaves no room for the 64 MB "
        "recording; raise the limit (ulimit -f)");
}
