#include <doctest/doctest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "evidence/core_facts.h"

using namespace cudadiag::evidence;

namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes)
      : path_(std::filesystem::temp_directory_path() / ("cudadiag-core-" + std::to_string(::getpid()))) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string bytes_of(const std::string& name) {
  std::ifstream in(std::string(TEST_DATA "/gpucore/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string refusal(const std::filesystem::path& path, std::uint64_t limit = kLargestUnpacked) {
  const auto read = read_core(path, limit);
  REQUIRE(std::holds_alternative<Unreadable>(read));
  std::string what = std::get<Unreadable>(read).what;
  const std::string name = path.string();
  REQUIRE(what.starts_with(name));
  return what.substr(name.size());
}

std::string refusal_of(const std::string& bytes) { return refusal(TemporaryFile(bytes).path()); }

}  // namespace

TEST_CASE("an unreadable file is named, with the reason") {
  CHECK(refusal("/nowhere/core.nvcudmp") == " cannot be read: No such file or directory");
  CHECK(refusal("/tmp") == " is not a regular file");
  CHECK(refusal("/dev/zero") == " is not a regular file");
  CHECK(refusal_of("") == " is empty");
  CHECK(refusal_of("\x7f"
                   "ELF, but nothing else") == " is not a GPU core dump");
  const std::string header("\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
  CHECK(refusal_of(header + "no archive") == " unpacks to nothing");
}

TEST_CASE("a dump without its section table is truncated") {
  const std::string whole = bytes_of("assert.nvcudmp");
  CHECK(refusal_of(whole.substr(0, whole.size() / 2)) == " is truncated or damaged: none of its tables can be read");
}

TEST_CASE("a compressed dump may not grow without limit") {
  const std::string packed = TEST_DATA "/gpucore/load.nvcudmp.gz";
  CHECK(refusal(packed, 300'000) == " unpacks to more than 300000 bytes");
  CHECK(std::holds_alternative<CoreFacts>(read_core(packed, 308'524)));
}

TEST_CASE("an incomplete archive gives an incomplete dump") {
  const std::string packed = bytes_of("load.nvcudmp.gz");
  CHECK(refusal_of(packed.substr(0, packed.size() / 2)) == " is truncated or damaged: none of its tables can be read");
}
