// Tests which files of the first run are hidden from a rerun.
#include "supervise/created_files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "unit/scratch_folder.h"

using namespace cudadiag;
using supervise::FolderSnapshot;
using test::ScratchFolder;
namespace fs = std::filesystem;

namespace {

// A working folder that has a file when the program begins. Files in it get a time of birth on every file system with
// one; the tests claim nothing where there is none.
class Folder {
 public:
  Folder() : before_(fs::current_path()) {
    scratch_.file("work/input.txt", "given");
    fs::current_path(scratch_.path() / "work");
  }
  ~Folder() { fs::current_path(before_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void add(const std::string& name) const { scratch_.file(("work/" + name).c_str(), "new"); }

  // The names, relative to the working folder.
  std::vector<std::string> made_since(const FolderSnapshot& beginning, const session::Session& session = {}) const {
    std::vector<std::string> names;
    for (const fs::path& path : beginning.since(session).made) {
      names.push_back(path.lexically_relative(fs::canonical(scratch_.path()) / "work"));
    }
    return names;
  }
  fs::path outside() const { return scratch_.path(); }

 private:
  fs::path before_;
  ScratchFolder scratch_;
};

// Lists the folders when the clock of file systems has moved on, so that no file is as new as the list. That clock lags
// by up to two ticks.
FolderSnapshot begun(const std::vector<std::string>& command) {
  timespec before{}, now{};
  for (int tick = 0; tick < 3; ++tick) {
    ::clock_gettime(CLOCK_REALTIME_COARSE, &before);
    do {
      ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (now.tv_sec == before.tv_sec && now.tv_nsec == before.tv_nsec);
  }
  return FolderSnapshot::list(command);
}

bool has_births() {
  const ScratchFolder scratch;
  struct statx status {};
  ::statx(AT_FDCWD, scratch.path().c_str(), 0, STATX_BTIME, &status);
  return (status.stx_mask & STATX_BTIME) != 0;
}

}  // namespace

TEST_CASE("a new file and a new folder are hidden, the rest is not") {
  if (!has_births()) return;
  const Folder folder;
  const FolderSnapshot beginning = begun({"program"});
  CHECK(folder.made_since(beginning).empty());
  folder.add("log.txt");
  folder.add("runs/1/model.pt");
  CHECK(folder.made_since(beginning) == std::vector<std::string>{"log.txt", "runs"});
}

TEST_CASE("a new name in a folder that existed is hidden alone") {
  if (!has_births()) return;
  const Folder folder;
  folder.add("runs/1/model.pt");
  const FolderSnapshot beginning = begun({"program"});
  folder.add("runs/2/model.pt");
  CHECK(folder.made_since(beginning) == std::vector<std::string>{"runs/2"});
}

TEST_CASE("code, environments and caches stay, and so does what lies beside code") {
  const Folder folder;
  const FolderSnapshot beginning = begun({"program"});
  folder.add("build/extension.so");
  folder.add("build/build.ninja");
  folder.add("env/pyvenv.cfg");
  folder.add("env/file");
  folder.add("cache/CACHEDIR.TAG");
  folder.add(".cache/models/weights");
  folder.add("__pycache__/module");
  CHECK(folder.made_since(beginning).empty());
  if (!has_births()) return;
  folder.add("build/logs/first");
  folder.add("log");
  CHECK(folder.made_since(beginning) == std::vector<std::string>{"log"});
}

TEST_CASE("what the program had mapped stays") {
  const Folder folder;
  const FolderSnapshot beginning = begun({"program"});
  folder.add("mapped.data");
  session::Session session;
  session.processes.emplace_back();
  session.processes.back().record.modules.push_back({});
  session.processes.back().record.modules.back().path = fs::current_path() / "mapped.data";
  CHECK(folder.made_since(beginning, session).empty());
}

TEST_CASE("the session is not hidden, even before its folder has its final name") {
  if (!has_births()) return;
  const Folder folder;
  const FolderSnapshot beginning = begun({"program"});
  folder.add("out.txt");
  folder.add("sessions/1.incomplete/manifest.json");
  session::Session session;
  session.folder = fs::current_path() / "sessions/1";
  CHECK(folder.made_since(beginning, session) == std::vector<std::string>{"out.txt"});
}

TEST_CASE("a file that took the place of another is named, not hidden") {
  const Folder folder;
  const FolderSnapshot beginning = begun({"program"});
  folder.add("draft");
  fs::rename("draft", "input.txt");
  CHECK(folder.made_since(beginning).empty());
  const auto since = beginning.since({});
  REQUIRE(since.changed.size() == 1);
  CHECK(supervise::note_on_beginning(since, fs::current_path()) ==
        "isolated reruns that could write saw files that changed during the first run: input.txt");
}

TEST_CASE("a file that was written in place is named, not hidden") {
  const Folder folder;
  fs::last_write_time("input.txt", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const FolderSnapshot beginning = begun({"program"});
  CHECK(beginning.since({}).changed.empty());
  std::ofstream("input.txt", std::ios::app) << "more";
  fs::last_write_time("input.txt", fs::file_time_type::clock::now() + std::chrono::hours(1));
  const auto since = beginning.since({});
  CHECK(since.made.empty());
  CHECK(since.changed == std::vector<fs::path>{fs::current_path() / "input.txt"});
}

TEST_CASE("a rerun sees a file otherwise if it was changed, made again or removed, unless it is a log") {
  const Folder folder;
  for (const char* name : {"train.log", "lightning_logs/metrics", "state", "link", "catalog", "gone"}) folder.add(name);
  const FolderSnapshot beginning = begun({"program"});
  for (const char* name : {"train.log", "lightning_logs/metrics", "catalog"})
    std::ofstream(name, std::ios::app) << "more";
  fs::permissions("state", fs::perms::owner_read);
  fs::remove("link");
  fs::create_symlink("state", "link");
  fs::remove("gone");
  const fs::path file = folder.outside() / "created";
  std::ofstream(file) << supervise::written(beginning.since({}));
  std::vector<std::string> names;
  for (const fs::path& path : supervise::otherwise(supervise::read_since(file))) names.push_back(path.filename());
  CHECK(names == std::vector<std::string>{"gone", "catalog", "link", "state"});
}

TEST_CASE("a new name that cannot be hidden counts as changed, and code does not") {
  const Folder folder;
  const FolderSnapshot beginning = begun({"program"});
  folder.add("kernel.so");
  fs::create_hard_link("input.txt", "lock");
  const auto since = beginning.since({});
  if (has_births()) CHECK(std::ranges::count(since.changed, fs::current_path() / "lock") == 1);
  CHECK(std::ranges::count(since.changed, fs::current_path() / "kernel.so") == 0);
}

TEST_CASE("a folder that the command names and the first run removed is named") {
  const ScratchFolder other;
  other.file("data/a", "a");
  const Folder folder;
  const fs::path named = fs::canonical(other.path()) / "data";
  const FolderSnapshot beginning = begun({"program", named.string()});
  fs::remove_all(named);
  CHECK(beginning.since({}).removed == std::vector<fs::path>{named});
}

TEST_CASE("a file that the first run removed or renamed is named") {
  const Folder folder;
  folder.add("queue/1");
  const FolderSnapshot beginning = begun({"program"});
  fs::rename("input.txt", "claimed.txt");
  fs::remove_all("queue");
  CHECK(supervise::note_on_beginning({{}, {}, beginning.since({}).removed, {}}, fs::current_path()) ==
        "isolated reruns that could write missed files that the first run removed: input.txt, queue");
}

TEST_CASE("what a later rerun reads is what was stored, without names that were created again") {
  if (!has_births()) return;
  const Folder folder;
  folder.add("log\n1");
  folder.add("again");
  const fs::path log = fs::current_path() / "log\n1", again = fs::current_path() / "again",
                 file = folder.outside() / "file";
  std::ofstream(file) << supervise::written({{log, again}, {"changed"}, {"gone"}, {}});
  fs::last_write_time(file, fs::last_write_time(again));
  const auto whole = supervise::read_since(file);
  CHECK(whole.made == std::vector<fs::path>{log, again});
  CHECK(whole.changed == std::vector<fs::path>{"changed"});
  CHECK(whole.removed == std::vector<fs::path>{"gone"});
  fs::last_write_time(file, fs::last_write_time(log) - std::chrono::hours(1));
  const auto late = supervise::read_since(file);
  CHECK(late.made.empty());
  CHECK(late.changed == std::vector<fs::path>{log, again, "changed"});
  CHECK(supervise::read_since(folder.outside() / "none").changed.empty());
}

TEST_CASE("a file that is older than the run is not hidden when it is moved here") {
  const Folder folder;
  std::ofstream(folder.outside() / "older") << "older";
  fs::last_write_time(folder.outside() / "older", fs::file_time_type::clock::now() - std::chrono::hours(1));
  ::usleep(50'000);  // more than the tick that a time of birth may lag
  const FolderSnapshot beginning = begun({"program"});
  fs::rename(folder.outside() / "older", "moved");
  CHECK(folder.made_since(beginning).empty());
}

TEST_CASE("folders in the command count, whether they existed or not") {
  if (!has_births()) return;
  const Folder folder;
  const fs::path outside = fs::canonical(folder.outside());
  fs::create_directory(outside / "there");
  const FolderSnapshot beginning =
      begun({"program", "--in=" + (outside / "there").string(), (outside / "absent").string()});
  std::ofstream(outside / "there/new") << "new";
  fs::create_directory(outside / "absent");
  fs::create_directory(outside / "unnamed");
  const auto made = beginning.since({}).made;
  CHECK(made == std::vector<fs::path>{outside / "there/new", outside / "absent"});
  CHECK(supervise::note_on_beginning({made, {}, {}, {}}, outside / "there") ==
        "isolated reruns that could write did not see what was created during the first run: new, " +
            (outside / "absent").string());
}

TEST_CASE("nothing is hidden in a folder with very many entries") {
  const Folder folder;
  for (int number = 0; number < 20'001; ++number) {
    fs::create_symlink("nowhere", "link" + std::to_string(number));
  }
  const FolderSnapshot beginning = begun({"program"});
  folder.add("log");
  CHECK(folder.made_since(beginning).empty());
  CHECK(supervise::note_on_beginning(beginning.since({}), fs::current_path().parent_path()) ==
        "isolated reruns that could write saw everything in folders that are large or slow to list: work");
}

TEST_CASE("a large folder that the command names does not keep the working folder from being listed") {
  if (!has_births()) return;
  const Folder folder;
  const fs::path large = fs::canonical(folder.outside()) / "large";
  fs::create_directory(large);
  for (int number = 0; number < 20'001; ++number) fs::create_symlink("nowhere", large / std::to_string(number));
  const FolderSnapshot beginning = begun({"program", large});
  folder.add("log");
  std::ofstream(large / "new") << "new";
  CHECK(folder.made_since(beginning) == std::vector<std::string>{"log"});
  CHECK(beginning.since({}).whole == std::vector<fs::path>{large});
}

TEST_CASE("the folders above a name in the command are hidden too, and a lock file that anyone may execute") {
  if (!has_births()) return;
  const Folder folder;
  const fs::path outside = fs::canonical(folder.outside());
  const FolderSnapshot beginning = begun({"program", outside / "a/b/c"});
  fs::create_directories(outside / "a/b/c");
  ::close(::open("lock", O_CREAT | O_EXCL | O_WRONLY, 0777));
  CHECK(beginning.since({}).made == std::vector<fs::path>{fs::current_path() / "lock", outside / "a"});
}

TEST_CASE("nothing is hidden if very many names are new") {
  const Folder folder;
  const FolderSnapshot beginning = begun({"program"});
  for (int number = 0; number < 1001; ++number) folder.add("log" + std::to_string(number));
  CHECK(folder.made_since(beginning).empty());
  CHECK(beginning.since({}).whole == std::vector<fs::path>{fs::current_path()});
}
