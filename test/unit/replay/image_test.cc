#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "record/rerun/image_reader.h"

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

bool is_installed(const char* name) {
  void* library = dlopen(name, RTLD_NOW);
  if (library != nullptr) dlclose(library);
  if (library == nullptr) MESSAGE(name << " is missing: code that it compressed is not tested");
  return library != nullptr;
}

// Returns a fat binary whose only entry is the cubin. The cubin is a single run of literals, as LZ4 writes it.
std::string lz4_fatbin(const std::string& cubin) {
  std::string code = "\xf0";
  std::size_t rest = cubin.size() - 15;
  for (; rest >= 255; rest -= 255) code += '\xff';
  code += static_cast<char>(rest);
  code += cubin;
  std::string entry(64, '\0');
  const auto put = [&](std::size_t at, auto value) { std::memcpy(entry.data() + at, &value, sizeof value); };
  put(0, std::uint16_t{2}), put(4, std::uint32_t{64}), put(8, std::uint64_t{code.size()});
  put(16, static_cast<std::uint32_t>(code.size())), put(28, std::uint32_t{90});
  put(40, std::uint64_t{0x2011}), put(56, std::uint64_t{cubin.size()});
  const std::uint64_t size = entry.size() + code.size();
  std::string head("\x50\xed\x55\xba\x01\x00\x10\x00", 8);
  head.append(reinterpret_cast<const char*>(&size), sizeof size);
  return head + entry + code;
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
  if (is_installed("libzstd.so.1")) CHECK(names_in(image("variables-zstd.fatbin"), Form::fatbin, read) == kVariables);
  CHECK(read);
  if (is_installed("liblz4.so.1")) {
    const std::string compressed = lz4_fatbin(image("variables.cubin"));
    CHECK(names_in(compressed, Form::fatbin, read) == kVariables);
    std::string damaged = compressed;
    damaged[16 + 64] = '\x10';  // the run has one letter
    CHECK(names_in(damaged, Form::fatbin, read).empty());
    CHECK_FALSE(read);
  }
  // The image has no code for this GPU, so code for another GPU is read.
  CHECK(names_in(image("variables.fatbin"), Form::fatbin, read, 75) == kVariables);
}

std::vector<std::string> cubins_in(const std::string& bytes, std::vector<std::uint32_t> architectures) {
  std::vector<std::string> cubins;
  const auto take = [](std::span<const std::byte> cubin, void* to) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  };
  each_cubin(std::as_bytes(std::span(bytes)), architectures, take, &cubins);
  return cubins;
}

TEST_CASE("the code that a GPU runs is found in every form of an image") {
  const std::string cubin = image("variables.cubin"), fatbin = image("variables.fatbin");
  CHECK(cubins_in(cubin, {75}) == std::vector{cubin});
  CHECK(cubins_in(fatbin, {90}) == std::vector{cubin});
  CHECK(cubins_in(fatbin, {90, 90, 75}) == std::vector{cubin});
  CHECK(cubins_in(fatbin, {75}).empty());
  CHECK(cubins_in(fatbin, {}).empty());
  CHECK(cubins_in(image("variables.ptx"), {90}).empty());
  const std::string compressed = lz4_fatbin(cubin);
  CHECK(cubins_in(compressed, {90}) == std::vector{compressed.substr(16)});
}

TEST_CASE("a damaged image is read safely") {
  for (const auto& [name, form] : {std::pair("variables.cubin", Form::cubin),
                                   {"variables.fatbin", Form::fatbin},
                                   {"variables-zstd.fatbin", Form::fatbin},
                                   {"variables.ptx", Form::text}}) {
    const std::string whole = image(name);
    bool read = false;
    for (std::size_t size = 0; size < whole.size(); size += 13) {
      names_in(whole.substr(0, size), form, read);
      cubins_in(whole.substr(0, size), {90});
    }
    for (std::size_t at = 0; at < std::min<std::size_t>(whole.size(), 400); ++at) {
      std::string changed = whole;
      changed[at] = static_cast<char>(~changed[at]);
      names_in(changed, form, read);
      cubins_in(changed, {90});
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
