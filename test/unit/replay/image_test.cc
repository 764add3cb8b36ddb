#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>

#include "record/saving/global_names.h"
#include "record/saving/image_extent.h"
#include "record/saving/lz4.h"

using namespace cudadiag::record;
using Form = cudadiag::wire::saved_launch::Image;

namespace {

std::string image(const char* name) {
  std::ifstream file(std::filesystem::path(TEST_DATA) / "images" / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> names_in(const std::string& bytes, Form form, bool& read, std::uint32_t architecture = 90) {
  const auto list = std::make_unique<NameList>();
  list->used = 0, list->cut = false;
  read = list_globals({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), form}, architecture, *list);
  std::set<std::string> names;
  for (std::size_t at = 0; at < list->used; at += std::strlen(list->text + at) + 1) names.insert(list->text + at);
  return names;
}

bool has_zstandard() {
  void* library = dlopen("libzstd.so.1", RTLD_NOW);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

const std::set<std::string> kVariables = {"counter", "hidden", "lookup", "table"};

}  // namespace

TEST_CASE("variables are found in every form of an image") {
  bool read = false;
  CHECK(names_in(image("variables.cubin"), Form::cubin, read) == kVariables);
  CHECK(read);
  CHECK(names_in(image("variables.ptx"), Form::text, read) == kVariables);
  CHECK(names_in(image("variables.fatbin"), Form::fatbin, read) == kVariables);
  CHECK(read);
  if (has_zstandard()) CHECK(names_in(image("variables-zstd.fatbin"), Form::fatbin, read) == kVariables);
  CHECK(read);
  // The image has no code for this GPU, so code for another GPU is read.
  CHECK(names_in(image("variables.fatbin"), Form::fatbin, read, 75) == kVariables);
}

TEST_CASE("a damaged image is read safely") {
  for (const auto& [name, form] : {std::pair("variables.cubin", Form::cubin),
                                   {"variables.fatbin", Form::fatbin},
                                   {"variables-zstd.fatbin", Form::fatbin},
                                   {"variables.ptx", Form::text}}) {
    const std::string whole = image(name);
    bool read = false;
    for (std::size_t size = 0; size < whole.size(); size += 13) names_in(whole.substr(0, size), form, read);
    for (std::size_t at = 0; at < std::min<std::size_t>(whole.size(), 400); ++at) {
      std::string changed = whole;
      changed[at] = static_cast<char>(~changed[at]);
      names_in(changed, form, read);
    }
  }
}

TEST_CASE("the length of an image is read from the image") {
  const std::string cubin = image("variables.cubin"), fatbin = image("variables.fatbin");
  ImageExtent extent = image_extent(cubin.data());
  CHECK((extent.size == cubin.size() && extent.form == Form::cubin));
  extent = image_extent(fatbin.data());
  CHECK((extent.size == fatbin.size() && extent.form == Form::fatbin));
  struct {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void* data;
    void* unused = nullptr;
  } wrapper{0x466243b1, 1, fatbin.data()};
  extent = image_extent(&wrapper);
  CHECK((extent.size == fatbin.size() && extent.begin == reinterpret_cast<const std::byte*>(fatbin.data())));
  extent = image_extent("// text\n.version 8.0");
  CHECK((extent.size == 20 && extent.form == Form::text));
  CHECK(image_extent("\1\2\3\4\5\6\7").begin == nullptr);
  CHECK(image_extent(nullptr).begin == nullptr);
}

TEST_CASE("LZ4 is decompressed, and damaged data is rejected") {
  const auto decompressed = [](std::string from, std::size_t size) -> std::string {
    std::string to(size, '?');
    const bool whole = decompress_lz4(std::as_bytes(std::span(from)), std::as_writable_bytes(std::span(to)));
    return whole ? to : "refused";
  };
  const std::string literals(
      "\x30"
      "abc",
      4);
  CHECK(decompressed(literals, 3) == "abc");
  CHECK(decompressed(literals, 4) == "refused");
  CHECK(decompressed(literals, 2) == "refused");
  // Three letters, then a match of 4 + 5 bytes at distance 3, then one letter.
  const std::string match(
      "\x35"
      "abc"
      "\x03\x00"
      "\x10"
      "z",
      8);
  CHECK(decompressed(match, 13) == "abcabcabcabcz");
  const std::string far(
      "\x35"
      "abc"
      "\x04\x00",
      6);
  CHECK(decompressed(far, 12) == "refused");
  // A run of 15 + 255 + 2 letters.
  CHECK(decompressed("\xf0\xff\x02" + std::string(272, 'x'), 272) == std::string(272, 'x'));
  CHECK(decompressed("\xf0\xff", 272) == "refused");
}
