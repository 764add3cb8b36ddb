#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "session/retention.h"
#include "session/session.h"
#include "session/session_files.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "session/session_writer.h"
#include "unit/scratch_folder.h"
#include "unit/session/area_builder.h"

using namespace cudadiag;
namespace fs = std::filesystem;
using test::ScratchFolder;

namespace {

session::SessionWriter new_session(const fs::path& root, std::int64_t time = 0, bool asked_for = true) {
  auto created = session::SessionWriter::create({{root, asked_for, ""}}, 4711, time);
  REQUIRE(std::holds_alternative<session::SessionWriter>(created));
  return std::move(std::get<session::SessionWriter>(created));
}

// Creates a file that contains one area, as the launcher's memory file does.
base::FileDescriptor area_file(const fs::path& folder) {
  test::AreaBuilder area;
  const std::string properties[][2] = {{"argv", std::string("python\0train.py\0", 16)}, {"rank", "3"}};
  for (const auto& [key, value] : properties) {
    const std::uint32_t key_id = area.string(key);
    area.entry(wire::intern::Tag::property, 0, {key_id, area.string(value), 0, 0});
  }
  const fs::path path = folder / "area";
  base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
  REQUIRE(::pwrite(file.get(), area.data(), area.bytes().size(), 0) == static_cast<ssize_t>(area.bytes().size()));
  return file;
}

session::Pass pass_in(const std::string& folder) {
  session::Pass pass;
  pass.folder = folder;
  return pass;
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

}  // namespace

TEST_CASE("a session is written, is private, and is read back") {
  const ScratchFolder scratch;
  auto writer = new_session(scratch.path());
  CHECK(writer.folder().filename() == "19700101-000000-4711.incomplete");
  const auto file = area_file(scratch.path());
  const auto size = fs::file_size(scratch.path() / "area");
  CHECK_FALSE(writer.store_area(0, 4711, file.get(), 0, size));
  session::Manifest manifest;
  manifest.command = {"python", "train.py"};
  manifest.ends[4711] = {1, std::nullopt};
  CHECK_FALSE(writer.store_manifest(manifest));
  CHECK_FALSE(writer.finish());
  CHECK(writer.folder().filename() == "19700101-000000-4711");
  CHECK(mode_of(writer.folder()) == 0700);
  CHECK(mode_of(writer.folder() / "manifest.json") == 0600);
  CHECK(mode_of(writer.folder() / "record/4711.area") == 0600);
  CHECK(fs::read_symlink(scratch.path() / "latest") == "19700101-000000-4711");

  const auto found = session::find_session({{scratch.path(), true, ""}}, "latest");
  REQUIRE(std::holds_alternative<fs::path>(found));
  const auto opened = session::open_session(std::get<fs::path>(found));
  REQUIRE(std::holds_alternative<session::Session>(opened));
  const auto& session = std::get<session::Session>(opened);
  CHECK(session.manifest.notes.empty());
  REQUIRE(session.processes.size() == 1);
  CHECK(session.processes[0].argv == std::vector<std::string>{"python", "train.py"});
  CHECK(session.processes[0].rank == 3);
  CHECK(session.processes[0].end->code == 1);
}

TEST_CASE("a process that tests whether a session is being written is not taken for a writer") {
  const ScratchFolder root;
  const fs::path folder = root.path() / "20261121-101500-4711.incomplete";
  fs::create_directory(folder);
  {
    const base::FileDescriptor tester(::open(folder.c_str(), O_RDONLY | O_DIRECTORY));
    REQUIRE(::flock(tester.get(), LOCK_SH | LOCK_NB) == 0);
    CHECK_FALSE(session::is_being_written(folder));
  }
  const session::SessionWriter writer = new_session(root.path());
  CHECK(session::is_being_written(writer.folder()));
}

TEST_CASE("a session without a manifest is not finished, and is removed if nothing was kept") {
  const ScratchFolder scratch;
  auto writer = new_session(scratch.path());
  session::Manifest manifest;
  manifest.command = {"python", "train.py"};
  REQUIRE_FALSE(writer.store_live_place({}, manifest));
  CHECK(writer.finish());
  CHECK(writer.folder().filename() == "19700101-000000-4711.incomplete");
  CHECK_FALSE(fs::exists(scratch.path() / "latest"));
  CHECK(session::open_running_manifest(writer.folder()).command == manifest.command);
  CHECK_FALSE(session::is_unused(writer.folder()));
  fs::remove(writer.folder() / "running.json");
  CHECK(writer.finish());
  CHECK_FALSE(fs::exists(writer.folder()));
}

TEST_CASE("only a folder that cudadiag env prepared is unused") {
  const ScratchFolder scratch;
  const fs::path name = scratch.path() / "19700101-000000-4711";
  fs::create_directories(name / "record");
  CHECK_FALSE(session::is_unused(name));
  fs::rename(name, name.string() + ".incomplete");
  CHECK(session::is_unused(name.string() + ".incomplete"));
  std::ofstream(name.string() + ".incomplete/races.json") << "{}";
  CHECK_FALSE(session::is_unused(name.string() + ".incomplete"));
}

TEST_CASE("sessions of one second are in the order of their pids, whenever their folders were changed") {
  const ScratchFolder scratch;
  const auto now = fs::file_time_type::clock::now();
  const std::vector<std::string> newest_first = {"19700102-000000-9998", "19700102-000000-107-10.incomplete",
                                                 "19700102-000000-107-9", "19700102-000000-107", "19700102-000000-12"};
  for (std::size_t i = 0; i < newest_first.size(); ++i) {
    fs::create_directories(scratch.path() / newest_first[i]);
    std::ofstream(scratch.path() / newest_first[i] / "manifest.json") << session::write_manifest({});
    fs::last_write_time(scratch.path() / newest_first[i], now + std::chrono::seconds(i));
  }
  const auto names = [&] {
    std::vector<std::string> found;
    for (const fs::path& each : session::sessions_in(scratch.path())) found.push_back(each.filename().string());
    return found;
  };
  CHECK(names() == newest_first);
  for (const std::string& name : newest_first) {
    REQUIRE(session::keep(scratch.path() / name));
    CHECK(names() == newest_first);
  }
}

TEST_CASE("the latest session is the newest one in all roots that belongs to this user") {
  const ScratchFolder scratch;
  const session::Root usual{scratch.path() / "usual", false, ""},
      second{scratch.path() / "second", false, "it may vanish"};
  const auto finish = [](const session::Root& root, int day) {
    auto writer = new_session(root.folder, day * 86400L, false);
    CHECK_FALSE(writer.store_manifest({}));
    CHECK_FALSE(writer.finish());
    return writer.folder();
  };
  const auto latest = [&] {
    const auto found = session::find_session({usual, second}, "");
    REQUIRE(std::holds_alternative<fs::path>(found));
    return std::get<fs::path>(found);
  };
  const fs::path first = finish(usual, 1);
  CHECK(latest() == first);
  const fs::path newer = finish(second, 2);
  CHECK(latest() == newer);
  const fs::path newest = finish(usual, 3);
  CHECK(latest() == newest);
  CHECK(session::sessions_in({usual, second}) == std::vector<fs::path>{newest, newer, first});

  // Makes `latest` in a root point to a folder elsewhere, whose name begins with the name of the newest session.
  const fs::path strange = scratch.path() / (newest.filename().string() + ".strange");
  fs::create_directories(strange / "record");
  fs::remove(usual.folder / "latest");
  fs::create_directory_symlink(strange, usual.folder / "latest");
  CHECK(latest() == newest);
}

TEST_CASE("two areas of one pid are kept apart, and storing one again replaces it") {
  const ScratchFolder scratch;
  auto writer = new_session(scratch.path());
  const auto file = area_file(scratch.path());
  for (const std::size_t index : {0u, 1u, 0u}) CHECK_FALSE(writer.store_area(index, 9, file.get(), 0, 8192));
  CHECK(fs::exists(writer.pass_folder() / "9.area"));
  CHECK(fs::exists(writer.pass_folder() / "9-2.area"));
  CHECK(writer.foreign_areas().empty());
  std::ofstream(writer.pass_folder() / "77.area") << "x";
  CHECK(writer.foreign_areas() == std::vector<fs::path>{writer.pass_folder() / "77.area"});
}

TEST_CASE("a folder of bare areas and an incomplete session are read with a note") {
  const ScratchFolder scratch;
  std::optional<session::SessionWriter> writer = new_session(scratch.path());
  const auto file = area_file(scratch.path());
  const fs::path folder = writer->folder();
  CHECK_FALSE(writer->store_area(0, 4711, file.get(), 0, fs::file_size(scratch.path() / "area")));
  std::ofstream(writer->pass_folder() / "5.area") << "no area";
  CHECK(session::run_goes_on(folder));
  const auto written = session::open_session(folder);
  REQUIRE(std::holds_alternative<session::Session>(written));
  CHECK(std::get<session::Session>(written).manifest.notes.front() ==
        "its run has not ended; to see its state: cudadiag status " + writer->final_folder().string());
  writer.reset();
  CHECK_FALSE(session::run_goes_on(folder));
  const auto opened = session::open_session(folder);
  REQUIRE(std::holds_alternative<session::Session>(opened));
  const auto& session = std::get<session::Session>(opened);
  CHECK(session.processes.size() == 1);
  REQUIRE(session.manifest.notes.size() == 3);
  CHECK(session.manifest.notes[0] ==
        "the session was recorded without cudadiag run, or cudadiag run was killed, so how its programs ended is "
        "unknown");
  CHECK(session.manifest.notes[1] == "the session is incomplete: its run has not ended, or was killed");
  CHECK(session.manifest.notes[2].ends_with("5.area was ignored: it is too short to be a recording"));
}

TEST_CASE("a session says how many recordings its processes removed") {
  const ScratchFolder scratch;
  const auto writer = new_session(scratch.path());
  std::uint64_t removed = 0;
  std::string said;
  SUBCASE("one") { removed = 1, said = "the recording of 1 earlier process was removed to save disk space"; }
  SUBCASE("several") { removed = 54, said = "the recordings of 54 earlier processes were removed to save disk space"; }
  for (const std::uint64_t counted : {removed - 1, removed}) {
    test::AreaBuilder area;
    wire::store(area.data(), wire::area::kEarlierRemoved, counted);
    std::ofstream file(writer.pass_folder() / (std::to_string(10 - counted % 2) + ".area"));
    file.write(reinterpret_cast<const char*>(area.data()), static_cast<std::streamsize>(area.bytes().size()));
  }
  const auto opened = session::open_session(writer.folder());
  REQUIRE(std::holds_alternative<session::Session>(opened));
  const auto& session = std::get<session::Session>(opened);
  CHECK(session.processes.size() == 2);
  CHECK(session.manifest.notes.back() == said);
  CHECK_FALSE(session.whole);
}

TEST_CASE("a process without a launcher lives while it maps its area") {
  std::string further;
  SUBCASE("the first one with its number") {}
  SUBCASE("one that came from exec") { further = "-2"; }
  const ScratchFolder scratch;
  const auto writer = new_session(scratch.path());
  session::ProcessRecord record;
  record.state = wire::area::State::recording;
  record.pid = static_cast<std::uint32_t>(::getpid());
  CHECK(session::lives(writer.folder(), record) == false);  // the pid now belongs to another process
  const fs::path area = writer.pass_folder() / (std::to_string(record.pid) + further + ".area");
  const base::FileDescriptor file(::open(area.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  void* mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  CHECK(session::lives(writer.folder(), record) == true);
  CHECK(session::lives(scratch.path() / "20261121-101500-1", record) == false);
  SUBCASE("it has reported its end") {
    record.state = wire::area::State::finished;
    CHECK(session::lives(writer.folder(), record) == false);
  }
  SUBCASE("a process of another machine is unknown") {
    record.properties["host"] = "no.such.host";
    CHECK(session::lives(writer.folder(), record) == std::nullopt);
  }
  SUBCASE("no process has this number") {
    record.pid = 0x7fffffff;
    CHECK(session::lives(writer.folder(), record) == false);
  }
  ::munmap(mapped, 4096);
}

TEST_CASE("reruns are added to a finished session, one folder each") {
  const ScratchFolder scratch;
  const auto file = area_file(scratch.path());
  const auto size = fs::file_size(scratch.path() / "area");
  fs::path folder;
  session::Manifest manifest;
  manifest.passes.push_back(pass_in("record"));
  {
    auto writer = new_session(scratch.path());
    CHECK_FALSE(writer.store_area(0, 4711, file.get(), 0, size));
    CHECK_FALSE(writer.store_manifest(manifest));
    CHECK_FALSE(writer.finish());
    folder = writer.folder();
    const auto busy = session::SessionWriter::reopen(folder);
    REQUIRE(std::holds_alternative<base::Error>(busy));
    CHECK(std::get<base::Error>(busy).hint == "wait until that process has ended");
  }
  for (const std::string name : {"confirm", "confirm-2"}) {
    auto reopened = session::SessionWriter::reopen(scratch.path() / "latest");
    REQUIRE(std::holds_alternative<session::SessionWriter>(reopened));
    auto& writer = std::get<session::SessionWriter>(reopened);
    CHECK(writer.folder() == folder);
    CHECK(writer.final_folder() == folder);
    CHECK(std::get<std::string>(writer.begin_pass("confirm")) == name);
    CHECK(mode_of(writer.pass_folder()) == 0700);
    CHECK(writer.foreign_areas().empty());
    CHECK_FALSE(writer.store_area(0, 4711, file.get(), 0, size));
    CHECK(fs::exists(folder / name / "4711.area"));
    manifest.passes.push_back(pass_in(name));
    CHECK_FALSE(writer.store_manifest(manifest));
  }
  const auto opened = session::open_session(folder);
  REQUIRE(std::holds_alternative<session::Session>(opened));
  const auto& session = std::get<session::Session>(opened);
  CHECK(session.processes.size() == 1);
  REQUIRE(session.reruns.size() == 2);
  for (const auto& rerun : session.reruns) CHECK(rerun.size() == 1);
  CHECK(std::holds_alternative<base::Error>(session::SessionWriter::reopen(scratch.path() / "nowhere")));
}

TEST_CASE("a rerun that left nothing keeps its number, and names that lead out of the session are not followed") {
  const ScratchFolder scratch;
  const auto file = area_file(scratch.path());
  auto outside = new_session(scratch.path(), 86400);
  CHECK_FALSE(outside.store_area(0, 4711, file.get(), 0, fs::file_size(scratch.path() / "area")));
  auto writer = new_session(scratch.path());
  session::Manifest manifest;
  const std::string out = outside.folder().filename();
  for (const std::string& folder : {std::string("record"), "../" + out + "/record", outside.pass_folder().string(),
                                    std::string(".."), std::string("."), std::string(""), std::string("confirm")}) {
    manifest.passes.push_back(pass_in(folder));
  }
  CHECK(std::get<std::string>(writer.begin_pass("confirm")) == "confirm");
  CHECK_FALSE(writer.store_area(0, 4711, file.get(), 0, fs::file_size(scratch.path() / "area")));
  CHECK_FALSE(writer.store_manifest(manifest));
  const auto opened = session::open_session(writer.folder());
  REQUIRE(std::holds_alternative<session::Session>(opened));
  const auto& reruns = std::get<session::Session>(opened).reruns;
  REQUIRE(reruns.size() == 6);
  for (std::size_t i = 0; i < 5; ++i) CHECK(reruns[i].empty());
  CHECK(reruns[5].size() == 1);
}

TEST_CASE("no name in a manifest leads out of the session") {
  session::Manifest manifest;
  const std::string names[] = {"../x", "/etc/x", "..", ".", "a/b", std::string("a\0b", 3)};
  for (const std::string& name : names) {
    manifest.passes.push_back(pass_in(name));
    manifest.passes.back().dump = name;
  }
  const auto parsed = session::parse_manifest(session::write_manifest(manifest));
  for (const session::Pass& pass : std::get<session::Manifest>(parsed).passes) {
    CHECK(pass.folder == "");
    CHECK(pass.dump == "");
  }
}

TEST_CASE("the record of a run, and the files edited before a rerun, are read back") {
  session::Manifest manifest;
  manifest.native_stacks = false;
  manifest.input_read = true;
  manifest.ranks = 8;
  manifest.passes.emplace_back().rewritten = {"train.py", "/opt/caf\xc3\xa9/lib.so"};
  const auto parsed = std::get<session::Manifest>(session::parse_manifest(session::write_manifest(manifest)));
  CHECK(parsed.python_stacks);
  CHECK_FALSE(parsed.native_stacks);
  CHECK(parsed.input_read);
  CHECK(parsed.ranks == 8);
  CHECK(parsed.passes.at(0).rewritten == manifest.passes[0].rewritten);
  CHECK_FALSE(parsed.passes.at(0).values);
  manifest.passes[0].values = true;
  CHECK(std::get<session::Manifest>(session::parse_manifest(session::write_manifest(manifest))).passes.at(0).values);
  const auto older = std::get<session::Manifest>(session::parse_manifest(R"({"schema":"cudadiag.session/1"})"));
  CHECK(older.python_stacks);
  CHECK(older.native_stacks);
  CHECK_FALSE(older.input_read);
  CHECK(older.ranks == 1);
}

TEST_CASE("arguments and a folder that are not UTF-8 are read back unchanged") {
  session::Manifest manifest;
  manifest.command = {"sh", "caf\xe9", "\xff\xfe", ""};
  manifest.working_directory = "/tmp/\xe9";
  const std::string text = session::write_manifest(manifest);
  const auto parsed = session::parse_manifest(text);
  CHECK(std::get<session::Manifest>(parsed).command == manifest.command);
  CHECK(std::get<session::Manifest>(parsed).working_directory == manifest.working_directory);

  manifest.command = {"sh", "caf\xc3\xa9"};
  manifest.working_directory = "/tmp";
  CHECK(session::write_manifest(manifest).find("_hex") == std::string::npos);
}

TEST_CASE("invalid hexadecimal leaves the arguments unchanged") {
  for (const char* hex : {R"(["6","63"])", R"(["zz","63"])", R"(["63"])", R"([1,2])", R"("63")"}) {
    const std::string text = R"({"schema":"cudadiag.session/1","command":["a","c"],"command_hex":)" + std::string(hex);
    const auto parsed = session::parse_manifest(text + "}");
    CHECK(std::get<session::Manifest>(parsed).command == std::vector<std::string>{"a", "c"});
  }
}

TEST_CASE("races with unknown words are left out") {
  const auto races = session::parse_races(
      R"({"schema":"cudadiag.races/1","races":[{"first":{"what":"copy","mode":"a\u001b[2J"},"second":{"what":"c\u007fpy"}}]})");
  REQUIRE(races);
  REQUIRE(races->found.size() == 1);
  CHECK(races->found[0].first.what == session::Work::copy);
  CHECK(races->found[0].first.mode == session::RaceMode::unknown);
  CHECK(races->found[0].second.what == session::Work::call);
}

TEST_CASE("races are read as written") {
  session::Races races;
  session::Race race;
  race.pid = 7;
  race.first = {.what = session::Work::kernel,
                .mode = session::RaceMode::write,
                .begin = 1,
                .end = 2,
                .exact = false,
                .stream = 3,
                .site = 4,
                .function = 5,
                .parameter = 6,
                .node = 7,
                .thread = 8,
                .ticks = 9};
  race.second.what = session::Work::copy;
  race.several = true;
  races.found = {race, race};
  races.unjudged = {race};
  const auto again = session::parse_races(session::write_races(races));
  REQUIRE(again);
  CHECK((again->found.size() == 2 && again->unjudged.size() == 1));
  const session::RaceAccess& access = again->unjudged[0].first;
  CHECK((access.node == 7 && access.thread == 8 && access.ticks == 9));
  CHECK(again->unjudged[0].several);
  CHECK(session::write_races(*again) == session::write_races(races));
}

TEST_CASE("pipes, links and endless files in a session are not read") {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path() / "session";
  fs::create_directories(folder / "record");
  for (const char* name : {session::kManifest, session::kRaces, session::kArenaFile, "record/7.values"}) {
    CAPTURE(name);
    REQUIRE(::mkfifo((folder / name).c_str(), 0600) == 0);
    CHECK_FALSE(session::read_plain_file(folder / name, 1024));
    CHECK(std::holds_alternative<base::Error>(session::open_session(folder)) == (name == session::kManifest));
    CHECK_FALSE(session::live_place(folder));
    fs::remove(folder / name);
    fs::create_symlink("/dev/zero", folder / name);
    CHECK_FALSE(session::read_plain_file(folder / name, 1024));
    CHECK(std::holds_alternative<base::Error>(session::open_session(folder)) == (name == session::kManifest));
    fs::remove(folder / name);
  }
  std::ofstream(folder / "text") << "text";
  CHECK(session::read_plain_file(folder / "text", 4) == "text");
  CHECK_FALSE(session::read_plain_file(folder / "text", 3));
}

TEST_CASE("a stored file is not written through an existing file or link") {
  const ScratchFolder scratch;
  auto writer = new_session(scratch.path());
  const fs::path file = writer.pass_folder() / "text", precious = scratch.path() / "precious";
  std::ofstream(precious) << "precious";
  fs::create_symlink(precious, file);
  CHECK_FALSE(writer.store_text(file, "new"));
  CHECK(session::read_plain_file(precious, 100) == "precious");
  CHECK(session::read_plain_file(file, 100) == "new");
  CHECK(mode_of(file) == 0600);
  fs::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK_FALSE(writer.store_text(file, "new"));
  CHECK(session::read_plain_file(file, 100) == "new");
}

TEST_CASE("a folder that is not a session is rejected") {
  const ScratchFolder scratch;
  CHECK(std::holds_alternative<base::Error>(session::open_session(scratch.path())));
  std::ofstream(scratch.path() / "manifest.json") << "{\"schema\": \"cudadiag.session/9\"}";
  const auto opened = session::open_session(scratch.path());
  REQUIRE(std::holds_alternative<base::Error>(opened));
  CHECK(std::get<base::Error>(opened).hint == "open it with the version of cudadiag that wrote it");
}

TEST_CASE("retention removes the oldest sessions, and nothing that is not cudadiag's") {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path() / "19690101-000000-1");  // named like a session, but empty
  fs::create_directory(scratch.path() / "notes");
  auto busy = new_session(scratch.path(), 0);
  for (int day = 1; day <= 4; ++day) {
    auto writer = new_session(scratch.path(), day * 86400L, false);
    CHECK_FALSE(writer.store_manifest({}));
    CHECK_FALSE(writer.finish({.sessions = 2}));
  }
  CHECK(fs::exists(scratch.path() / "notes"));
  CHECK(fs::exists(scratch.path() / "19690101-000000-1"));
  CHECK(fs::exists(busy.folder()));
  CHECK_FALSE(fs::exists(scratch.path() / "19700102-000000-4711"));
  CHECK_FALSE(fs::exists(scratch.path() / "19700103-000000-4711"));
  CHECK(fs::exists(scratch.path() / "19700104-000000-4711"));
  CHECK(fs::exists(scratch.path() / "19700105-000000-4711"));
}

TEST_CASE("sessions without contents do not displace others, and are removed when they are old") {
  const ScratchFolder scratch;
  const auto keep_one = [&](int day) {
    auto writer = new_session(scratch.path(), day * 86400L, false);
    CHECK_FALSE(writer.store_manifest({}));
    CHECK_FALSE(writer.finish({.sessions = 3}));
    return writer.folder();
  };
  const fs::path first = keep_one(1);
  std::vector<fs::path> blank;
  for (int day = 2; day <= 6; ++day) blank.push_back(new_session(scratch.path(), day * 86400L, false).folder());
  const std::timespec old[2] = {};
  REQUIRE(::utimensat(AT_FDCWD, blank[0].c_str(), old, 0) == 0);
  keep_one(7);
  CHECK(fs::exists(first));
  CHECK_FALSE(fs::exists(blank[0]));
  for (std::size_t i = 1; i < blank.size(); ++i) CHECK(fs::exists(blank[i]));
}

TEST_CASE("a session that a program without a launcher records to is not deleted") {
  const ScratchFolder scratch;
  test::AreaBuilder area;
  wire::store(area.data(), wire::area::kPid, static_cast<std::uint32_t>(::getpid()));
  const std::string name = std::to_string(::getpid()) + ".area";
  const auto begin = [&](int day) {
    const auto writer = new_session(scratch.path(), day * 86400L, false);
    base::FileDescriptor file(::open((writer.pass_folder() / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::pwrite(file.get(), area.data(), area.bytes().size(), 0) == static_cast<ssize_t>(area.bytes().size()));
    return std::pair(writer.folder(), std::move(file));
  };
  const auto [dead, unmapped] = begin(1);
  const auto [living, file] = begin(2);
  void* mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  auto writer = new_session(scratch.path(), 3 * 86400L, false);
  CHECK_FALSE(writer.store_manifest({}));
  CHECK_FALSE(writer.finish({.sessions = 1}));
  CHECK(fs::exists(living));
  CHECK_FALSE(fs::exists(dead));
  ::munmap(mapped, 4096);
}

TEST_CASE("a session that alone exceeds the limit does not displace others") {
  const ScratchFolder scratch;
  const std::string large(100'000, 'x');
  std::vector<fs::path> kept;
  for (int day = 1; day <= 3; ++day) {
    auto writer = new_session(scratch.path(), day * 86400L, false);
    CHECK_FALSE(writer.store_manifest({}));
    if (day == 2) CHECK_FALSE(writer.store_text(writer.pass_folder() / "output.txt", large));
    CHECK_FALSE(writer.finish({.bytes = 50'000}));
    kept.push_back(writer.folder());
    for (const fs::path& folder : kept) CHECK(fs::exists(folder) == !(day == 3 && folder == kept[1]));
  }
}

TEST_CASE("if a folder cannot be created, there is a hint, or the next root is used with a warning") {
  const ScratchFolder scratch;
  std::ofstream(scratch.path() / "file") << "x";
  const session::Root impossible{scratch.path() / "file/root", false, ""};
  const auto failed = session::SessionWriter::create({impossible}, 1, 0);
  REQUIRE(std::holds_alternative<base::Error>(failed));
  CHECK(std::get<base::Error>(failed).hint == "choose a writable folder with -o FOLDER");
  const auto second = session::SessionWriter::create({impossible, {scratch.path() / "b", false, ""}}, 1, 0);
  REQUIRE(std::holds_alternative<session::SessionWriter>(second));
  CHECK(std::get<session::SessionWriter>(second).root().warning.find("cannot create") == 0);
  const session::Root by_variable{scratch.path() / "file", false, "", true};
  const auto third =
      session::SessionWriter::create({by_variable, {scratch.path() / "c", false, "it may vanish"}}, 1, 0);
  REQUIRE(std::holds_alternative<session::SessionWriter>(third));
  CHECK(std::get<session::SessionWriter>(third).root().warning ==
        "CUDADIAG_DIR cannot be used: " + by_variable.folder.string() + " is not a folder; it may vanish");
}

TEST_CASE("session names") {
  CHECK(session::is_session_name("20261121-101500-4711"));
  CHECK(session::is_session_name("20261121-101500-4711-2.incomplete"));
  CHECK_FALSE(session::is_session_name("20261121-101500"));
  CHECK_FALSE(session::is_session_name("20261121-101500-4711.old"));
  CHECK_FALSE(session::is_session_name("latest"));
}

TEST_CASE("a process title that replaced the arguments is not followed by empty arguments") {
  session::ProcessRecord record;
  record.properties["argv"] = std::string("ray::work\0\0\0\0", 13);
  CHECK(session::describe_process(record, {}).argv == std::vector<std::string>{"ray::work"});
  record.properties["argv"] = std::string("a\0\0b\0", 5);
  CHECK(session::describe_process(record, {}).argv == std::vector<std::string>{"a", "", "b"});
}
