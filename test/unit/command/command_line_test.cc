#include "command_line.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace cudadiag::command {
namespace {

TEST_CASE("a typing error is distinguished from a different word") {
  const std::vector<std::string> commands = {"run", "races", "bisect", "report", "ranks", "list"};
  CHECK(closest("reprot", commands) == "report");
  CHECK(closest("RUN", commands) == "run");
  CHECK(closest("bisekt", commands) == "bisect");
  CHECK(closest("lst", commands) == "list");
  CHECK(closest("python3", commands).empty());
  CHECK(closest("x", commands).empty());
  CHECK(closest("", commands).empty());
  CHECK(did_you_mean("reprot", commands) == "; did you mean report?");
  CHECK(did_you_mean("python3", commands).empty());
}

TEST_CASE("a file that cannot be written is refused with the reason and what to do, and nothing is created") {
  namespace fs = std::filesystem;
  const CLI::Validator writable = a_writable_file();
  const fs::path folder = fs::temp_directory_path() / ("writable-file-" + std::to_string(::getpid()));
  fs::create_directory(folder);
  std::ofstream(folder / "old") << "x";
  for (const fs::path& file : {folder / "new", folder / "old", fs::path("/dev/null"), fs::path("bare")}) {
    CAPTURE(file);
    CHECK(writable(file.string()) == "");
  }
  CHECK(fs::file_size(folder / "old") == 1);
  const std::string gone = (folder / "gone").string(), inside = (folder / "old").string();
  CHECK(writable(gone + "/log") == "the folder " + gone + " does not exist: create it, or choose another file");
  CHECK(writable(inside + "/log") == "the folder " + inside + " does not exist: create it, or choose another file");
  CHECK(writable(folder.string()) == folder.string() + " is a folder: choose another file");
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace cudadiag::command
