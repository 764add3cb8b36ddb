#include "session/session_trust.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/processes.h"
#include "session/session_files.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
namespace fs = std::filesystem;
using test::ScratchFolder;

namespace {

session::Session session_in(const fs::path& folder, const std::string& host) {
  session::Session session;
  session.folder = folder;
  session.manifest.host = host;
  session.manifest.command = {"python", "train.py"};
  return session;
}

session::Process process_on(const std::string& host) {
  session::Process process;
  if (!host.empty()) process.record.properties["host"] = host;
  return process;
}

}  // namespace

TEST_CASE("a session is the reader's own if its folder's owner and its host match") {
  const ScratchFolder scratch;
  const std::string here = base::host_name();
  CHECK(session::why_foreign(session_in(scratch.path(), here)).empty());
  CHECK(session::why_foreign(session_in(scratch.path(), "evilbox")) == "it was recorded on another host (evilbox)");
  CHECK(session::why_foreign(session_in(scratch.path(), "")) == "the host that it was recorded on is unknown");
  CHECK(session::why_foreign(session_in(scratch.path() / "gone", here)).starts_with("its folder cannot be read"));
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give a folder away");
    return;
  }
  REQUIRE(::chown(scratch.path().c_str(), 65534, 65534) == 0);
  CHECK(session::why_foreign(session_in(scratch.path(), here)) == "its folder belongs to another user (uid 65534)");
}

TEST_CASE("without the launcher's host, the hosts of all processes count") {
  const ScratchFolder scratch;
  const std::string here = base::host_name();
  session::Session session = session_in(scratch.path(), "");
  session.manifest.command.clear();
  CHECK(session::why_foreign(session).empty());
  session.processes = {process_on(here), process_on(here)};
  CHECK(session::why_foreign(session).empty());
  session.processes.push_back(process_on("zzz-evilbox"));
  CHECK(session::why_foreign(session) == "it was recorded on another host (zzz-evilbox)");
  session.processes.back() = process_on("");
  CHECK(session::why_foreign(session) == "the host that it was recorded on is unknown");
}

TEST_CASE("a file that a session names is opened only if it is a plain file on a disk") {
  const ScratchFolder scratch;
  const fs::path source = scratch.file("train.py", "text"), link = scratch.path() / "link";
  fs::create_symlink(source, link);
  CHECK(session::read_named_file(source, 100) == "text");
  CHECK(session::read_named_file(link, 100) == "text");
  CHECK_FALSE(session::read_named_file(source, 3));
  CHECK_FALSE(session::open_named_file("").valid());
  CHECK_FALSE(session::open_named_file(scratch.file("empty")).valid());
  CHECK_FALSE(session::open_named_file(scratch.path()).valid());
  const fs::path pipe = scratch.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_FALSE(session::open_named_file(pipe).valid());
  for (const char* file : {"/dev/zero", "/proc/self/environ", "/proc/thread-self/environ", "/proc//self/environ",
                           "/dev/../proc/self/status", "/proc/kmsg", "/sys/kernel/mm/transparent_hugepage/enabled"}) {
    CHECK_FALSE(session::open_named_file(file).valid());
  }
}

TEST_CASE("a link into /proc does not expose the reader's own open files") {
  const ScratchFolder scratch;
  const base::FileDescriptor open(::open(scratch.file("input", "secret").c_str(), O_RDONLY | O_CLOEXEC));
  const std::string number = std::to_string(open.get());
  const fs::path link = scratch.path() / "link";
  for (const std::string& file : {"/dev/fd/" + number, "/proc/self/fd/" + number, "/dev/../proc/self/fd/" + number}) {
    CHECK_FALSE(session::open_named_file(file).valid());
    fs::remove(link);
    fs::create_symlink(file, link);
    CHECK_FALSE(session::open_named_file(link).valid());
  }
}

TEST_CASE("a link to a session is exposed where the session is, and where the link is") {
  const ScratchFolder scratch;
  const fs::path own = scratch.path() / "own", open = scratch.path() / "open";
  for (const fs::path& folder : {own, open}) fs::create_directories(folder / "session");
  fs::permissions(open, fs::perms::all);
  fs::create_directory_symlink(open / "session", own / "link");
  fs::create_directory_symlink(own / "session", open / "link");
  const auto exposed = [&](const fs::path& folder) { return session::exposed_folder(session_in(folder, "here")); };
  CHECK_FALSE(exposed(own / "session"));
  CHECK(exposed(own / "link") == open);
  CHECK(exposed(open / "link") == open);
}
