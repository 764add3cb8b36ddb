// Tests reading nvdisasm's JSON. The JSON was written by nvdisasm 13.5 for kernel `called` of test/data/sass/ranges on
// sm_90.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "sass/byte_ranges.h"
#include "supervise/tools/kernel_text.h"

using namespace cudadiag;

namespace {

std::string read(const std::string& name) {
  std::ifstream file(TEST_DATA "/sass/ranges/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string text_of_called() {
  const std::string all = read("sm90.txt"), mark = "// called\n";
  const std::size_t begin = all.find(mark) + mark.size();
  return all.substr(begin, all.find("// ", begin) - begin);
}

sass::LaunchValues launch_values() {
  sass::LaunchValues values{{3, 1, 1}, {32, 1, 1}, std::string(16, '\0'), {0}};
  const int n = 70;
  std::memcpy(values.parameters.data() + 8, &n, sizeof n);
  return values;
}

}  // namespace

TEST_CASE("the bytes of a kernel are the same from JSON as from text") {
  const std::string lines = supervise::lines_of_json(read("called.sm90.json"));
  CHECK(lines.starts_with("/*0000*/ LDC R1,c[0x0][0x28] ;\n"));
  CHECK(lines.find("/*0070*/ @P0 EXIT  ;\n") != std::string::npos);
  const auto rows = [](const std::string& text) {
    const auto bytes = sass::ByteRanges(text, {0x210, 16}).of(launch_values());
    REQUIRE(bytes.size() == 1);
    return bytes[0].rows;
  };
  CHECK(rows(lines) == rows(text_of_called()));
  CHECK(rows(lines) == std::vector<sass::ByteRows>{{0, 280, 0, 1}});
}

TEST_CASE("text that is not the JSON of one function gives no lines") {
  for (const char* json : {"", "nvdisasm fatal", "[]", "{}", "[{},[]]", "[{},[{}]]", "[{},[{\"start\":0}]]",
                           "[{},[{\"start\":0,\"sass-instructions\":[1]}]]"}) {
    CAPTURE(json);
    CHECK(supervise::lines_of_json(json) == "");
  }
}
