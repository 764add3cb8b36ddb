#include <doctest/doctest.h>

#include <string>

#include "replay/saved_launch.h"
#include "unit/replay/sample_launch.h"

using namespace cudadiag;
using namespace cudadiag::replay;

namespace {

// Replaces `old` by `changed` in the text of a launch. Returns the error from reading that text; empty if there is
// none.
std::string refusal_of(const std::string& old, const std::string& changed) {
  std::string text = write_launch(test::sample_launch());
  const std::size_t at = text.find(old);
  REQUIRE(at != text.npos);
  text.replace(at, old.size(), changed);
  const auto read = parse_launch(text);
  const auto* failure = std::get_if<base::Error>(&read);
  return failure == nullptr ? "" : failure->what;
}

}  // namespace

TEST_CASE("a written launch is read back completely") {
  const std::string text = write_launch(test::sample_launch());
  const auto read = parse_launch(text);
  REQUIRE(std::holds_alternative<SavedLaunch>(read));
  const auto& launch = std::get<SavedLaunch>(read);
  CHECK(write_launch(launch) == text);
  CHECK(launch.kernel == "_Z5scalePff");
  CHECK(launch.parameters[1].bytes.size() == 4);
  CHECK(launch.blocks[1].contents->from == 512);
  CHECK(launch.blocks[3].variable == "place");
  CHECK(launch.failure->instruction->offset == 0x90);
  CHECK(launch.function_values[1].second == -1);
}

TEST_CASE("the error for a different version names that version") {
  CHECK(refusal_of("cudadiag.launch/1", "cudadiag.launch/2").find("a different format") != std::string::npos);
}

TEST_CASE("impossible numbers are rejected") {
  const std::string max = "18446744073709551615";
  CHECK(refusal_of("\"bytes\": 4096,\n   \"kind\"", "\"bytes\": " + max + ",\n   \"kind\"") != "");
  CHECK(refusal_of("\"from\": 512", "\"from\": " + max) != "");
  CHECK(refusal_of("\"from\": 512", "\"from\": 1048576") != "");
  CHECK(refusal_of("\"from\": 512", "\"from\": 5.5") != "");
  CHECK(refusal_of("\"from\": 512", "\"from\": -1") != "");
  CHECK(refusal_of("\"from\": 512", "\"from\": null") != "");
  CHECK(refusal_of("\"offset\": 8", "\"offset\": 4294967288") != "");
  CHECK(refusal_of("0x7f0000000000", "0xffffffffffffff00") != "");
  CHECK(refusal_of("0x7f0000000000", "7f0000000000") != "");
  CHECK(refusal_of("0x7f0000000000", "0x7f00000000000000000") != "");
  CHECK(refusal_of("\"shared_bytes\": 1024", "\"shared_bytes\": 4294967296") != "");
  CHECK(refusal_of("\"id\": 4", "\"id\": -4") != "");
}

TEST_CASE("file names that lead out of the folder are rejected") {
  for (const char* name :
       {"../memory-0", "/etc/passwd", "memory-", "memory-0/x", "memory-1234567890", "image", "memory-0x"}) {
    CAPTURE(name);
    CHECK(refusal_of("\"memory-0\"", "\"" + std::string(name) + "\"") != "");
  }
  CHECK(refusal_of("_Z5scalePff", "") != "");
  CHECK(refusal_of("_Z5scalePff", "scale\\u0000x") != "");
}

TEST_CASE("text that is not a launch is rejected") {
  for (const char* text :
       {"", "[]", "{}", "null", "{\"schema\":\"cudadiag.launch/1\"}", "{\"schema\":1}", "\xff\xfe"}) {
    CAPTURE(text);
    CHECK(std::holds_alternative<base::Error>(parse_launch(text)));
  }
  const std::string deep(1 << 20, '[');
  CHECK(std::holds_alternative<base::Error>(parse_launch(deep)));
  const std::string whole = write_launch(test::sample_launch());
  for (std::size_t size = 0; size < whole.size() - 2; size += 17) {
    CHECK(std::holds_alternative<base::Error>(parse_launch(whole.substr(0, size))));
  }
}

TEST_CASE("bytes that are not hex digits are rejected") {
  CHECK(refusal_of("\"bytes\": \"01010101\"", "\"bytes\": \"0101010\"") != "");
  CHECK(refusal_of("\"bytes\": \"01010101\"", "\"bytes\": \"0101010g\"") != "");
  CHECK(refusal_of("\"bytes\": \"01010101\"", "\"bytes\": \"\"") != "");
}

TEST_CASE("deeply nested values are rejected, because they take far more memory than their text") {
  const auto with_nested = [](std::size_t depth) {
    return "\"extra\": " + std::string(depth, '[') + std::string(depth, ']') + ", \"schema\"";
  };
  CHECK(refusal_of("\"schema\"", with_nested(4)) == "");
  CHECK(refusal_of("\"schema\"", with_nested(40)) != "");
}
