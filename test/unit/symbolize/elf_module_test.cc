#include "symbolize/elf_module.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "fixture_library.h"

using cudadiag::symbolize::ElfModule;
using cudadiag::symbolize::NativeFrame;
namespace fs = std::filesystem;

namespace {

std::vector<NativeFrame> frames_of(const std::string& path, const char* function) {
  const fixture::Library library(path);
  ElfModule module(path, "");
  return module.frames(library.return_address(function) - 1);
}

void check_frame(const NativeFrame& frame, const std::string& function, const std::string& mark, bool inlined) {
  INFO(function);
  CHECK(frame.function == function);
  CHECK(frame.file == FIXTURE_SOURCE);
  CHECK(frame.line == fixture::marked_line(mark));
  CHECK(frame.inlined == inlined);
}

const std::string kWithLines[] = {FIXTURE_DWARF5, FIXTURE_DWARF4, FIXTURE_SPLIT, FIXTURE_LINKED};

}  // namespace

TEST_CASE("a plain function has its line and both its names") {
  for (const auto& path : kWithLines) {
    INFO(path);
    const auto frames = frames_of(path, fixture::kPlain);
    REQUIRE(frames.size() == 1);
    check_frame(frames[0], "fixture::from_plain_function()", "plain", false);
    CHECK(frames[0].mangled == fixture::kPlain);
    CHECK(frames[0].module == path);
  }
}

TEST_CASE("the separate debug file of a library that is not the user's is not read") {
  const fs::path copy = fs::path(FIXTURE_LINKED).replace_filename("libtorch.so");
  fs::copy_file(FIXTURE_LINKED, copy, fs::copy_options::overwrite_existing);
  CHECK(ElfModule(FIXTURE_LINKED, "").has_lines());
  CHECK_FALSE(ElfModule(copy, "").has_lines());
  fs::remove(copy);
}

TEST_CASE("inlined functions are separate frames, innermost first") {
  for (const auto& path : kWithLines) {
    INFO(path);
    const auto frames = frames_of(path, fixture::kInlined);
    REQUIRE(frames.size() == 3);
    CHECK(frames[0].function.starts_with("fixture::(anonymous namespace)::Inner::call"));  // some compilers append "()"
    CHECK(frames[0].line == fixture::marked_line("inner"));
    CHECK(frames[0].inlined);
    CHECK(frames[1].function.starts_with("fixture::(anonymous namespace)::middle"));
    CHECK(frames[1].line == fixture::marked_line("middle"));
    CHECK(frames[1].inlined);
    check_frame(frames[2], "fixture::from_inlined_functions()", "outer", false);
  }
}

TEST_CASE("a function of a local class, which compilers may describe inside another function") {
  for (const auto& path : kWithLines) {
    INFO(path);
    const auto frames = frames_of(path, fixture::kLocal);
    REQUIRE(frames.size() == 2);
    CHECK(frames[0].line == fixture::marked_line("inner"));
    CHECK(frames[1].function.find("::Local::call()") != std::string::npos);
    CHECK(frames[1].line == fixture::marked_line("local"));
  }
}

TEST_CASE("a C function has one name") {
  for (const auto& path : kWithLines) {
    const auto frames = frames_of(path, fixture::kC);
    REQUIRE(frames.size() == 1);
    check_frame(frames[0], "fixture_c_function", "c", false);
  }
}

TEST_CASE("without the .dwo file, a line of a library's header is not attributed") {
  const fixture::Library library(FIXTURE_UNDESCRIBED);
  ElfModule module(FIXTURE_UNDESCRIBED, "");
  const auto at = [&](const char* function) { return module.frames(library.return_address(function) - 1); };
  CHECK(module.missing_file().empty());
  CHECK(at(fixture::kInlined).front().line == fixture::marked_line("inner"));
  CHECK(module.missing_file().ends_with("/fixture/library.cc.dwo"));
  const auto header = at(fixture::kHeader);
  REQUIRE(header.size() == 1);
  CHECK(header[0].function == "fixture::from_library_header()");
  CHECK(header[0].line == 0);
  for (const auto& path : {FIXTURE_DWARF5, FIXTURE_SPLIT}) {
    CHECK(frames_of(path, fixture::kHeader).back().line == fixture::marked_line("header"));
  }
}

TEST_CASE("functions of identical code that the linker folded into one") {
  if (!FIXTURE_HAS_FOLDED) return;
  for (const std::string path : {FIXTURE_FOLDED, FIXTURE_FOLDED_BARE}) {
    INFO(path);
    for (const char* name : {"_ZN7fixture5firstEv", "_ZN7fixture6secondEv"}) {
      const auto frames = frames_of(path, name);
      REQUIRE(frames.size() == 1);
      CHECK(frames[0].folded);
      CHECK(frames[0].function == "fixture::first or fixture::second");
      CHECK(frames[0].line == 0);
    }
  }
  const auto templates = frames_of(FIXTURE_FOLDED, "_ZN7fixture11of_one_lineIiEEPKvRKT_");
  REQUIRE(templates.size() == 1);
  CHECK(templates[0].function.find(" or ") != std::string::npos);
  CHECK(templates[0].line > 0);
  for (const char* name : {"aliased", "alias"}) {
    const auto frames = frames_of(FIXTURE_FOLDED, name);
    REQUIRE(frames.size() == 1);
    CHECK_FALSE(frames[0].folded);
    CHECK(frames[0].function == "aliased");
    CHECK(frames[0].line > 0);
  }
}

TEST_CASE("code at addresses that a dropped function's range includes") {
  for (const char* path : {FIXTURE_DROPPED4, FIXTURE_DROPPED5}) {
    INFO(path);
    const auto frames = frames_of(path, fixture::kPlain);
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].function == "fixture::from_plain_function()");
    CHECK(frames[0].file == FIXTURE_DROPPED_SOURCE);
    CHECK(frames[0].line == fixture::marked_line("plain", FIXTURE_DROPPED_SOURCE));
  }
}

TEST_CASE("a stripped library still names its exports") {
  const auto frames = frames_of(FIXTURE_STRIPPED, fixture::kPlain);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].function == "fixture::from_plain_function()");
  CHECK(frames[0].mangled == fixture::kPlain);
  CHECK(frames[0].file == "");
  CHECK(frames[0].line == 0);
  CHECK_FALSE(ElfModule(FIXTURE_STRIPPED, "").has_lines());
}

TEST_CASE("an address outside all functions gives a frame with only its module") {
  for (std::uint64_t address : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    const auto frames = ElfModule(FIXTURE_DWARF5, "").frames(address);
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].module == FIXTURE_DWARF5);
    CHECK(frames[0].function == "");
    CHECK(frames[0].line == 0);
  }
}

TEST_CASE("a different build than the recorded one gives no names") {
  ElfModule module(FIXTURE_DWARF5, "00112233445566778899aabbccddeeff00112233");
  CHECK(module.condition() == ElfModule::Condition::changed);
  const fixture::Library library(FIXTURE_DWARF5);
  const auto frames = module.frames(library.return_address(fixture::kPlain) - 1);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].function == "");
}

TEST_CASE("a file that is not an ELF file counts as missing") {
  CHECK(ElfModule("/nonexistent/lib.so", "").condition() == ElfModule::Condition::missing);
  CHECK(ElfModule("/dev/null", "").condition() == ElfModule::Condition::missing);
  CHECK(ElfModule("/", "").condition() == ElfModule::Condition::missing);
  ElfModule text(FIXTURE_SOURCE, "");
  CHECK(text.condition() == ElfModule::Condition::missing);
  CHECK(text.frames(16).size() == 1);
}

TEST_CASE("reading truncated files gives what is left, and ends") {
  std::ifstream whole(FIXTURE_DWARF5, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  const fixture::Library library(FIXTURE_DWARF5);
  const auto address = library.return_address(fixture::kInlined) - 1;
  const fs::path cut = fs::temp_directory_path() / "cudadiag_test_truncated.so";
  for (std::size_t part = 0; part <= 32; ++part) {
    std::ofstream(cut, std::ios::binary) << bytes.substr(0, bytes.size() * part / 33);
    ElfModule module(cut, "");
    CHECK(module.frames(address).size() >= 1);
    CHECK(module.tail_calls().function_named("nowhere") == cudadiag::symbolize::TailCalls::kNotKnown);
  }
  fs::remove(cut);
}

TEST_CASE("entries that can be reached again and again are abandoned") {
  ElfModule module(FIXTURE_SIBLINGS, "");
  CHECK(module.has_lines());
  const auto frames = module.frames(0x1100);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].line == 0);
}

TEST_CASE("functions with very many ranges are abandoned") {
  ElfModule module(FIXTURE_RANGES, "");
  const auto frames = module.frames(0x1100);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].line == 0);
  CHECK(module.tail_calls().function_at(0x18) == cudadiag::symbolize::TailCalls::kNotKnown);
}
