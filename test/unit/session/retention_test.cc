#include "session/retention.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "session/session.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "session/session_trust.h"
#include "session/session_writer.h"
#include "unit/scratch_folder.h"
#include "unit/session/area_builder.h"

using namespace cudadiag;
namespace fs = std::filesystem;
using test::ScratchFolder;

namespace {

session::SessionWriter new_session(const fs::path& root, int day, bool asked_for = false) {
  auto created = session::SessionWriter::create({{root, asked_for, ""}}, 4711, day * 86400L);
  REQUIRE(std::holds_alternative<session::SessionWriter>(created));
  return std::move(std::get<session::SessionWriter>(created));
}

fs::path finished_session(const fs::path& root, int day, const session::Retention& keep = {}) {
  auto writer = new_session(root, day);
  CHECK_FALSE(writer.store_manifest({}));
  CHECK_FALSE(writer.finish(keep));
  return writer.folder();
}

void write(const fs::path& file, std::string_view content) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << content;
}

void write_area(const fs::path& file) {
  test::AreaBuilder area;
  write(file, {reinterpret_cast<const char*>(area.bytes().data()), area.bytes().size()});
}

bool is_there(const fs::path& path) { return fs::exists(fs::symlink_status(path)); }

}  // namespace

TEST_CASE("a user's folder with the name of a session is not listed and not removed") {
  const ScratchFolder scratch;
  const fs::path model = scratch.path() / "19690101-000001-77", plain = scratch.path() / "19690101-000002-77",
                 record = scratch.path() / "19690101-000003-77", text = scratch.path() / "19690101-000004-77";
  write(model / "manifest.json", R"({"model": "mine", "note": "cudadiag.session/1"})");
  write(model / "weights.bin", "w");
  fs::create_directories(plain);
  write(record / "record/take.wav", "r");
  write(text / "manifest.json", "cudadiag.session/");
  write(text / "record/9.area", "an area of mine");
  for (const fs::path& folder : {model, plain, record, text}) CHECK_FALSE(session::is_session(folder));
  finished_session(scratch.path(), 1, {.sessions = 1});
  finished_session(scratch.path(), 2, {.sessions = 1});
  CHECK(session::sessions_in(scratch.path()).size() == 1);
  CHECK(fs::exists(model / "weights.bin"));
  CHECK(fs::exists(model / "manifest.json"));
  CHECK(fs::exists(plain));
  CHECK(fs::exists(record / "record/take.wav"));
  CHECK(fs::exists(text / "record/9.area"));
}

TEST_CASE("a folder with a manifest of any version, an area or a mark is a session") {
  const ScratchFolder scratch;
  const fs::path later = scratch.path() / "19690101-000001-1", area = scratch.path() / "19690101-000002-1",
                 mark = scratch.path() / "19690101-000003-1";
  write(later / "manifest.json", R"({"schema": "cudadiag.session/9"})");
  write_area(area / "record/7.area");
  write(mark / "record/7-3-28.unrecorded", "");
  for (const fs::path& folder : {later, area, mark}) CHECK(session::is_session(folder));
}

TEST_CASE("removal of a session leaves files that cudadiag did not write, with their folders") {
  const ScratchFolder scratch;
  const fs::path old = finished_session(scratch.path(), 1);
  write(old / "weights.bin", "w");
  write(old / "record/notes.txt", "n");
  write(old / "confirm/output.txt", "o");
  write(old / "manifest.json.bak", "b");
  auto writer = new_session(scratch.path(), 2);
  CHECK_FALSE(writer.store_manifest({}));
  CHECK_FALSE(writer.finish({.sessions = 1}));
  CHECK(writer.removed().size() == 1);
  CHECK(fs::exists(old / "weights.bin"));
  CHECK(fs::exists(old / "record/notes.txt"));
  CHECK(fs::exists(old / "manifest.json.bak"));
  CHECK_FALSE(fs::exists(old / "manifest.json"));
  CHECK_FALSE(fs::exists(old / "confirm"));
}

TEST_CASE("a session with every file that cudadiag writes is removed completely") {
  const ScratchFolder scratch;
  const fs::path old = finished_session(scratch.path(), 1);
  for (const char* name : {"races.json",
                           "arena",
                           "running.json",
                           "manifest.json.new",
                           "record/1.area",
                           "record/1-2.area",
                           "record/1.area.new",
                           "record/1.log",
                           "record/1.watched",
                           "record/1-3-28.unrecorded",
                           "record/modules/00c0ffee00c0ffee.cubin",
                           "record/modules/00c0ffee00c0ffee.4711",
                           "confirm-12/1.values",
                           "confirm-12/1.inputs/call.json",
                           "confirm-12/1.inputs/inputs.safetensors",
                           "confirm-12/1.inputs/replay.py",
                           "confirm-12/1.inputs/output.txt",
                           "confirm-12/output.txt",
                           "device/1.gpucore",
                           "device/dump.gpucore",
                           "device/cuda-gdb.txt",
                           "eager/1.area",
                           "memory/1.values",
                           "races/races.json",
                           "sanitize/compute-sanitizer.txt"}) {
    write(old / name, "x");
  }
  REQUIRE(::mkfifo((old / "device/1.pipe").c_str(), 0600) == 0);
  finished_session(scratch.path(), 2, {.sessions = 1});
  CHECK_FALSE(is_there(old));
}

TEST_CASE("removing a session follows no link") {
  const ScratchFolder scratch;
  const fs::path old = finished_session(scratch.path(), 1), precious = scratch.path() / "precious";
  write(precious / "1.area", "mine");
  fs::create_directory_symlink(precious, old / "confirm");
  finished_session(scratch.path(), 2, {.sessions = 1});
  CHECK(fs::exists(precious / "1.area"));
  CHECK_FALSE(fs::exists(old / "manifest.json"));
}

TEST_CASE("a folder that cudadiag env prepared is removed when it is a day old and unused") {
  const ScratchFolder scratch;
  const std::timespec old[2] = {};
  const auto prepared = [&](int day) {
    const fs::path folder = new_session(scratch.path(), day).folder();
    REQUIRE(::utimensat(AT_FDCWD, folder.c_str(), old, 0) == 0);
    return folder;
  };
  const fs::path unused = prepared(1), used = prepared(2), kept = prepared(3);
  const fs::path fresh = new_session(scratch.path(), 4).folder();
  write_area(used / "record/1.area");
  write(kept / "notes.txt", "mine");
  for (const fs::path& folder : {used, kept}) REQUIRE(::utimensat(AT_FDCWD, folder.c_str(), old, 0) == 0);
  session::retain(scratch.path(), {}, {});
  CHECK_FALSE(fs::exists(unused));
  CHECK(fs::exists(used / "record/1.area"));
  CHECK(fs::exists(kept / "notes.txt"));
  CHECK(fs::exists(fresh));
}

TEST_CASE("a writer whose folder was replaced by a link still writes to its own folder") {
  const ScratchFolder scratch;
  const fs::path precious = scratch.path() / "precious", moved = scratch.path() / "moved";
  write(precious / "manifest.json", "mine");
  write(precious / "record/output.txt", "mine");
  auto writer = new_session(scratch.path(), 1, true);
  fs::rename(writer.folder(), moved);
  fs::create_directory_symlink(precious, writer.folder());
  CHECK_FALSE(writer.store_manifest({}));
  CHECK_FALSE(writer.store_text(writer.pass_folder() / "races.json", "ours"));
  CHECK(writer.create_file("output.txt").valid());
  const auto pass = writer.begin_pass("confirm");
  CHECK(std::holds_alternative<std::string>(pass));
  const auto failure = writer.finish();
  REQUIRE(failure);
  CHECK(failure->what.find("has moved the session's folder") != std::string::npos);
  writer.discard();
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(precious)) ++entries;
  CHECK(entries == 3);
  CHECK(fs::file_size(precious / "manifest.json") == 4);
  CHECK(fs::exists(moved / "manifest.json"));
  CHECK(fs::exists(moved / "record/races.json"));
  CHECK(fs::exists(moved / "confirm"));
}

TEST_CASE("a path that leads through a link or out of the folder is rejected for a file to store") {
  const ScratchFolder scratch;
  auto writer = new_session(scratch.path(), 1, true);
  fs::create_directory(scratch.path() / "outside");
  fs::create_directory_symlink(scratch.path() / "outside", writer.folder() / "confirm");
  CHECK(writer.store_text(writer.folder() / "confirm/races.json", "ours"));
  CHECK(writer.store_text(writer.folder() / "../outside/races.json", "ours"));
  CHECK(writer.store_text(scratch.path() / "outside/races.json", "ours"));
  CHECK(fs::is_empty(scratch.path() / "outside"));
}

TEST_CASE("a root is exposed if anyone may rename entries in it, or another user owns it") {
  const ScratchFolder scratch;
  const auto exposure = [&](mode_t mode) {
    REQUIRE(::chmod(scratch.path().c_str(), mode) == 0);
    return session::exposure_of(scratch.path());
  };
  CHECK(exposure(0700).empty());
  CHECK(exposure(0770).empty());
  CHECK(exposure(01777).empty());
  CHECK(exposure(0777).find("all users can write to") == 0);
  CHECK(exposure(0777).find("chmod o-w") != std::string::npos);
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give a folder away");
    return;
  }
  REQUIRE(::chown(scratch.path().c_str(), 65534, 65534) == 0);
  CHECK(exposure(0700).find("belongs to another user (uid 65534)") != std::string::npos);
  auto writer = new_session(scratch.path(), 1, true);
  CHECK(writer.root().warning.find("belongs to another user") != std::string::npos);
}

TEST_CASE("a root is exposed too if a folder above it is, or one that contains the target of a link") {
  const ScratchFolder scratch;
  const auto exposed = [&](const fs::path& root) { return session::exposed_folder(scratch.path() / root); };
  fs::create_directories(scratch.path() / "open/own/root");
  fs::create_directories(scratch.path() / "own");
  fs::create_symlink("../open/own", scratch.path() / "own/link");
  CHECK_FALSE(exposed("own/link/root"));
  REQUIRE(::chmod((scratch.path() / "open").c_str(), 0777) == 0);
  CHECK(exposed("open/own/root") == scratch.path() / "open");
  CHECK(exposed("own/link/root") == scratch.path() / "own/../open");
  REQUIRE(::chmod((scratch.path() / "open").c_str(), 01777) == 0);
  CHECK_FALSE(exposed("own/link/root"));
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give a link away");
    return;
  }
  fs::create_symlink("../own", scratch.path() / "open/theirs");
  CHECK_FALSE(exposed("open/theirs"));
  REQUIRE(::lchown((scratch.path() / "open/theirs").c_str(), 65534, 65534) == 0);
  CHECK(exposed("open/theirs") == scratch.path() / "open");
}

TEST_CASE("what is removed from a session is found without following links") {
  const ScratchFolder scratch;
  auto writer = new_session(scratch.path(), 1, true);
  const fs::path outside = scratch.path() / "outside";
  write(outside / "modules/file", "theirs");
  write(writer.pass_folder() / "modules/0123.cubin", "ours");
  writer.remove(outside / "modules");
  writer.remove(writer.folder() / "../outside/modules");
  writer.remove(writer.folder());
  CHECK(fs::exists(outside / "modules/file"));
  const fs::path named = writer.pass_folder() / "modules", moved = scratch.path() / "moved";
  fs::rename(writer.folder(), moved);
  fs::create_directory_symlink(outside, writer.folder());
  fs::rename(outside / "modules", outside / "inner");
  fs::create_directory(outside / "record");
  fs::rename(outside / "inner", outside / "record/modules");
  writer.remove(named);
  CHECK(fs::exists(outside / "record/modules/file"));
  CHECK_FALSE(fs::exists(moved / "record/modules"));
}

TEST_CASE("of two sessions of one second, the one that began later is newer, whatever its pid and its end") {
  const ScratchFolder scratch;
  const session::Root root{scratch.path(), false, ""};
  const auto create = [&](std::uint32_t pid, std::int64_t second) {
    return std::get<session::SessionWriter>(session::SessionWriter::create({root}, pid, second));
  };
  const std::int64_t second = std::time(nullptr);
  auto first = create(4711, second);
  const auto created = [&](const session::SessionWriter& writer) {
    struct statx status {};
    ::statx(AT_FDCWD, writer.folder().c_str(), 0, STATX_BTIME, &status);
    return std::pair(status.stx_btime.tv_sec, status.stx_btime.tv_nsec);
  };
  if (created(first).first == 0) {
    MESSAGE("skipped: this file system does not tell when a folder was created");
    return;
  }
  std::optional<session::SessionWriter> last = create(12, second);
  while (created(*last) == created(first)) {  // a file system's clock ticks every few milliseconds
    last->discard();
    last.emplace(create(12, second));
  }
  for (session::SessionWriter* writer : {&*last, &first}) {
    REQUIRE_FALSE(writer->store_manifest({}));
    REQUIRE_FALSE(writer->finish());
  }
  CHECK(session::sessions_in(scratch.path()) == std::vector<fs::path>{last->folder(), first.folder()});
}

TEST_CASE("if CUDADIAG_DIR is usable, sessions are read only from there") {
  const ScratchFolder scratch;
  ::setenv("CUDADIAG_DIR", scratch.path().c_str(), 1);
  CHECK(session::roots({}).size() == 2);
  CHECK(session::roots_to_read({}).size() == 1);
  const fs::path file = scratch.file("file");
  ::setenv("CUDADIAG_DIR", file.c_str(), 1);
  CHECK(session::roots_to_read({}).size() == 2);
  ::unsetenv("CUDADIAG_DIR");
}

TEST_CASE("the target of a link in a session is ignored, and the session says so") {
  const ScratchFolder scratch;
  const fs::path outside = scratch.path() / "outside";
  write_area(outside / "7.area");
  write(outside / "7.values", "");
  const fs::path folder = finished_session(scratch.path(), 1);
  session::Manifest manifest;
  manifest.passes.resize(2);
  manifest.passes[0].folder = "record";
  manifest.passes[1].folder = "confirm";
  write(folder / "manifest.json", session::write_manifest(manifest));
  fs::remove(folder / "record");
  fs::create_directory_symlink(outside, folder / "record");
  fs::create_directory_symlink(outside, folder / "confirm");
  const auto opened = session::open_session(folder);
  REQUIRE(std::holds_alternative<session::Session>(opened));
  const auto& session = std::get<session::Session>(opened);
  CHECK(session.processes.empty());
  CHECK(session.reruns.at(0).empty());
  CHECK_FALSE(session.whole);
  CHECK(session.manifest.notes.at(0) == "record was ignored: it is a link to another folder");
  CHECK(session.manifest.notes.at(1) == "confirm was ignored: it is a link to another folder");
}

TEST_CASE("no more recordings of a pass are read than a launcher has places for") {
  const ScratchFolder scratch;
  const fs::path folder = finished_session(scratch.path(), 1);
  for (int pid = 1; pid <= 1100; ++pid) write(folder / "record" / (std::to_string(pid) + ".area"), "x");
  const auto opened = session::open_session(folder);
  REQUIRE(std::holds_alternative<session::Session>(opened));
  const auto& notes = std::get<session::Session>(opened).manifest.notes;
  REQUIRE(notes.size() == 1033);
  CHECK(notes.front() == "68 recordings were ignored: cudadiag reads at most 1032 per run");
  session::Session surplus;
  session::read_areas(session::areas_in(folder / "record"), surplus, surplus.processes);
  CHECK(surplus.manifest.notes == notes);
}

TEST_CASE("no more recordings of all reruns are read than four runs can have") {
  const ScratchFolder scratch;
  auto writer = new_session(scratch.path(), 1);
  session::Manifest manifest;
  manifest.passes.resize(6);
  for (std::size_t pass = 1; pass < manifest.passes.size(); ++pass) {
    manifest.passes[pass].folder = "confirm-" + std::to_string(pass + 1);
    const fs::path folder = writer.folder() / manifest.passes[pass].folder;
    for (int pid = 1; pid <= 900; ++pid) write(folder / (std::to_string(pid) + ".area"), "x");
  }
  CHECK_FALSE(writer.store_manifest(manifest));
  const auto opened = session::open_session(writer.folder());
  REQUIRE(std::holds_alternative<session::Session>(opened));
  CHECK(std::get<session::Session>(opened).manifest.notes.back() ==
        "372 recordings were ignored: cudadiag reads at most 4128 of all reruns");
}

TEST_CASE("an incomplete session with more recordings than a run can have is not removed") {
  const ScratchFolder scratch;
  const fs::path folder = new_session(scratch.path(), 1).folder();
  for (int pid = 1; pid <= 1033; ++pid) write(folder / "record" / (std::to_string(pid) + ".area"), "x");
  write_area(folder / "record" / "1.area");
  finished_session(scratch.path(), 2, {.sessions = 1});
  CHECK(is_there(folder));
}

TEST_CASE("a manifest that is too large is reported as such") {
  const ScratchFolder scratch;
  const fs::path folder = finished_session(scratch.path(), 1);
  fs::resize_file(folder / "manifest.json", 240'000'000);
  const auto opened = session::open_session(folder);
  REQUIRE(std::holds_alternative<base::Error>(opened));
  CHECK(std::get<base::Error>(opened).what.ends_with("it is larger than 64 MiB"));
}

TEST_CASE("launches that killed reruns saved for themselves are removed, and no others") {
  const ScratchFolder scratch;
  const fs::path& root = scratch.path();
  const fs::path session = finished_session(root, 1), asked = session / "launch/launch-4711/image";
  const fs::path mark = session / "confirm" / session::kPassingLaunchFile, launch = session / "confirm/launch-4711";
  const auto leave = [&] {
    write(mark, "");
    write(launch / "memory-0", "m");
  };
  write(asked, "i");
  leave();
  finished_session(root, 2);
  CHECK_FALSE(is_there(mark));
  CHECK_FALSE(is_there(launch));
  CHECK(is_there(session / "confirm"));
  leave();
  {
    const auto writer = session::SessionWriter::reopen(session);
    CHECK_FALSE(is_there(launch));
    leave();
    finished_session(root, 3);
    CHECK(is_there(launch));  // a rerun may be using it
  }
  CHECK(is_there(asked));
}
