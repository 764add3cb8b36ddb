#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "replay/saved_launch.h"

using namespace cudadiag;
using namespace cudadiag::replay;
namespace format = wire::saved_launch;

namespace {

class Builder {
 public:
  Builder() {
    bytes_.resize(format::kHeaderSize);
    wire::store(bytes_.data(), format::kHeaderMagic, format::kMagic);
    wire::store(bytes_.data(), format::kHeaderVersion, format::kVersion);
  }
  Builder& add(format::Record kind, const std::vector<std::uint32_t>& words, const std::string& text = "") {
    const std::size_t length = 4 * words.size() + text.size(), at = bytes_.size();
    bytes_.resize(at + format::kRecordHead + (length + 7) / 8 * 8);
    wire::store(bytes_.data() + at, format::kKind, static_cast<std::uint32_t>(kind));
    wire::store(bytes_.data() + at, format::kLength, static_cast<std::uint32_t>(length));
    std::byte* payload = bytes_.data() + at + format::kRecordHead;
    std::memcpy(payload, words.data(), 4 * words.size());
    std::memcpy(payload + 4 * words.size(), text.data(), text.size());
    return *this;
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Returns the words that describe a block of 256 bytes at 0x7f0000001000. The 128 bytes from offset 64 on are saved.
std::vector<std::uint32_t> block_words() { return {0x1000, 0x7f00, 256, 0, 64, 0, 128, 0, 3, 1, 1, 0}; }

Builder sample() {
  using format::Record;
  Builder builder;
  builder.add(Record::kernel, {}, "fill")
      .add(Record::launch, {1, 2, 3, 32, 1, 1, 0, 0, 0, 48, 1, 2})
      .add(Record::image, {3, 0, 17, 0})
      .add(Record::parameter, {8, 4, 0x04030201})
      .add(Record::function_value, {8, 0xffffffff})
      .add(Record::limit, {0, 0, 1024, 0})
      .add(Record::gpu, {13000, 9, 0, 0}, "GPU")
      .add(Record::block, block_words())
      .add(Record::global, {0, 0x7f01, 8, 0, 0, 0, 8, 0, 4, 0, 3, 0}, "place")
      .add(Record::missing, {1, 0, 7, 0})
      .add(Record::failed, {700});
  return builder;
}

bool is_refused(Builder builder) { return std::holds_alternative<base::Error>(read_description(builder.bytes())); }

}  // namespace

TEST_CASE("the recorder's description is read completely") {
  Builder builder = sample();
  const auto read = read_description(builder.bytes());
  REQUIRE(std::holds_alternative<SavedLaunch>(read));
  const auto& launch = std::get<SavedLaunch>(read);
  CHECK(launch.kernel == "fill");
  CHECK(launch.grid == Dim3{1, 2, 3});
  CHECK(launch.shared_bytes == 48);
  CHECK(launch.cooperative);
  CHECK(launch.device == 2);
  CHECK(launch.image_form == ImageForm::text);
  CHECK(launch.image_bytes == 17);
  REQUIRE(launch.parameters.size() == 1);
  CHECK(launch.parameters[0].offset == 8);
  CHECK(launch.parameters[0].bytes == std::vector{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}});
  CHECK(launch.function_values[0] == std::pair(8u, -1));
  REQUIRE(launch.blocks.size() == 2);
  CHECK(launch.blocks[0].address == 0x7f0000001000);
  CHECK(launch.blocks[0].contents->file == "memory-3");
  CHECK(launch.blocks[0].contents->from == 64);
  CHECK(launch.blocks[1].variable == "place");
  CHECK(launch.gpu.name == "GPU");
  CHECK(launch.failure->code == 700);
}

TEST_CASE("a launch that did not fail cannot be replayed") {
  Builder builder;
  builder.add(format::Record::kernel, {}, "fill");
  const auto read = read_description(builder.bytes());
  REQUIRE(std::holds_alternative<base::Error>(read));
  CHECK(std::get<base::Error>(read).what.find("did not fail") != std::string::npos);
}

TEST_CASE("a damaged description is rejected") {
  CHECK(std::holds_alternative<base::Error>(read_description({})));
  {
    Builder other = sample();
    wire::store(other.bytes().data(), format::kHeaderVersion, 9);
    CHECK(is_refused(other));
  }
  using format::Record;
  CHECK(is_refused(sample().add(Record::kernel, {})));
  CHECK(is_refused(sample().add(Record::launch, {1})));
  CHECK(is_refused(sample().add(Record::image, {9, 0, 1, 0})));
  CHECK(is_refused(sample().add(Record::parameter, {0x10000, 4, 1})));
  CHECK(is_refused(sample().add(Record::block, {1, 2, 3})));
  std::vector<std::uint32_t> words = block_words();
  words[9] = 99;  // an invalid kind of memory
  CHECK(is_refused(sample().add(Record::block, words)));
  words = block_words();
  words[6] = 512;  // more bytes than the block has
  CHECK(is_refused(sample().add(Record::block, words)));
  words = block_words();
  words[3] = 0xffffffff;
  CHECK(is_refused(sample().add(Record::block, words)));
  Builder cut = sample();
  const std::size_t whole = cut.bytes().size();
  for (std::size_t size = 0; size < whole - 16; ++size) {
    cut.bytes().resize(size);
    CHECK(is_refused(cut));
    cut = sample();
  }
}
