// Tests races on textures, surfaces and arrays. The kernels are in test/data/sass/images.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "races/race_detector.h"
#include "unit/session/area_builder.h"
#include "wire/race_record.h"
#include "wire/tables.h"

namespace images_test {

using namespace cudadiag;
using sass::Mode;
namespace operation = wire::operation;
namespace race = wire::race;
using operation::Kind;

namespace {

constexpr std::uint64_t kMemory = 0x7f0000000000, kOut = 0x7f0000100000, kArray = 0x5500, kOther = 0x5600;
constexpr std::uint64_t kTexture = 1, kSurface = 1;  // may be equal, because textures and surfaces are numbered
                                                     // separately
constexpr std::uint32_t kRow = 1024, kRows = 64;     // the array's row size in bytes, and its number of rows
enum Function : std::uint32_t { kSample = 1, kDraw, kFetch, kVolume };

races::Codes code_of(const std::string& kernel, std::uint32_t size, const std::string& folder = "images") {
  std::ifstream file(TEST_DATA "/sass/" + folder + "/sm90.txt");
  const std::string all(std::istreambuf_iterator<char>(file), {}), mark = "// " + kernel + "\n";
  const std::size_t begin = all.find(mark);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = all.find("// ", begin + mark.size());
  return {std::make_shared<const sass::ByteRanges>(all.substr(begin, end - begin), sass::ParameterBank{0x210, size})};
}

// A process with two non-blocking streams, a buffer, and an array of floats. A texture and a surface refer to the
// array.
struct Images {
  Images() {
    for (std::size_t i = 0; i < 2; ++i) {
      area.live_stream(i);
      wire::store(area.stream(i), wire::stream::kHandle, 0x100 + i);
      wire::store(area.stream(i), wire::stream::kFlags, static_cast<std::uint32_t>(wire::stream::kNonBlocking));
    }
    for (const std::uint64_t address : {kMemory, kOut}) {
      std::byte* record = blank(Kind::memory_made, operation::kNoStream);
      wire::store(record, race::kWord0, address);
      wire::store(record, race::kWord1, std::uint64_t{1} << 20);
      detector.record(record);
    }
    array(kArray);
    image(kTexture, kArray, race::kOfArray);
    image(kSurface, kArray, race::kOfArray | race::kSurface);
  }
  static test::AreaShape shape() {
    test::AreaShape shape;
    shape.streams = 2;
    shape.contexts = 1;
    return shape;
  }
  std::byte* blank(Kind kind, std::uint32_t stream) {
    std::memset(bytes, 0, sizeof bytes);
    wire::store(bytes, operation::kKind, static_cast<std::uint8_t>(kind));
    wire::store(bytes, operation::kStream, static_cast<decltype(operation::kStream)::type>(stream));
    wire::store(bytes, operation::kTicks, ++ticks);
    return bytes;
  }
  void array(std::uint64_t handle, std::uint64_t row = kRow, std::uint64_t rows = kRows, std::uint64_t layers = 0,
             std::uint64_t element = 4) {
    std::byte* record = blank(Kind::array_made, operation::kNoStream);
    wire::store(record, race::kWord0, handle);
    wire::store(record, race::kWord1, row);
    wire::store(record, race::kWord2, rows | layers << 32);
    wire::store(record, race::kWord3, element);
    detector.record(record);
  }
  void image(std::uint64_t handle, std::uint64_t resource, int flags, std::uint64_t row = 0, std::uint64_t rows = 0,
             std::uint64_t pitch = 0) {
    std::byte* record = blank(Kind::image_made, operation::kNoStream);
    wire::store(record, race::kWord0, handle);
    wire::store(record, race::kWord1, resource);
    wire::store(record, race::kWord2, row);
    wire::store(record, race::kWord3, rows | pitch << 32);
    wire::store(record, race::kOffset0, static_cast<std::uint16_t>(flags));
    wire::store(record, race::kOffset1, std::uint16_t{4});
    detector.record(record);
  }
  template <typename... Values>
  void launch(std::uint32_t stream, Function function, std::uint64_t pointer, std::uint32_t depth, Values... values) {
    std::byte* words = blank(Kind::parameters, operation::kNoStream);
    wire::store(words, operation::kSite, static_cast<decltype(operation::kSite)::type>(function));
    wire::store(words, race::kWord0, pointer);
    wire::store(words, race::kOffset0, std::uint16_t{8});
    detector.record(words);
    std::string parameters;
    const auto put = [&](auto value) { parameters.append(reinterpret_cast<const char*>(&value), sizeof value); };
    (put(values), ...);
    std::byte* record = blank(Kind::kernel, stream);
    wire::store(record, operation::kSite, static_cast<decltype(operation::kSite)::type>(function));
    wire::store(record, operation::kGridX, 2u);
    wire::store(record, operation::kGridY, std::uint16_t{kRows});
    wire::store(record, operation::kGridZ, static_cast<std::uint16_t>(depth));
    wire::store(record, operation::kBlock, operation::Block::pack({128, 1, 1}));
    detector.record(record, parameters);
  }
  void draw(std::uint32_t stream, int width, int height, int first, std::uint64_t surface = kSurface) {
    launch(stream, kDraw, 0, 1, surface, width, height, first);
  }
  void sample(std::uint32_t stream, std::uint64_t texture = kTexture) {
    const std::uint64_t out = kOut + (outs++ << 16);
    launch(stream, kSample, out, 1, texture, out, 256, 64);
  }
  void fetch(std::uint32_t stream, int first, int count) {
    const std::uint64_t out = kOut + (outs++ << 16);
    launch(stream, kFetch, out, 1, kTexture, out, first, count);
  }
  // Copies a part of the array to or from memory that no other operation uses.
  struct Box {
    std::uint64_t x = 0, y = 0, z = 0, width = kRow, height = kRows, depth = 1;
  };
  void copy(std::uint32_t stream, const Box& box, int flags = 0, std::uint64_t handle = kArray) {
    std::byte* side = blank(Kind::array_side, operation::kNoStream);
    wire::store(side, race::kWord0, handle);
    wire::store(side, race::kWord1, box.x | box.y << 32);
    wire::store(side, race::kWord2, box.z | box.depth << 32);
    wire::store(side, race::kWord3, box.width | box.height << 32);
    wire::store(side, race::kOffset0, static_cast<std::uint16_t>(flags));
    detector.record(side);
    wire::store(blank(Kind::copy, stream), operation::kSite, std::uint16_t{9});
    detector.record(bytes);
  }
  void fill(std::uint32_t stream, std::uint64_t address, std::uint32_t size) {
    std::byte* record = blank(Kind::memset, stream);
    wire::store(record, operation::kSite, std::uint16_t{7});
    wire::store(record, operation::kDestination, address);
    wire::store(record, operation::kBytes, size);
    detector.record(record);
  }
  std::size_t races() const { return detector.races().size(); }

  test::AreaBuilder area{shape()};
  std::uint64_t ticks = 0, outs = 0;
  alignas(8) std::byte bytes[wire::area::kOperationSize];
  races::Codes codes[6] = {{},
                           code_of("sample__8_8_4_4", 24),
                           code_of("draw__8_4_4_4", 20),
                           code_of("fetch__8_8_4_4", 24),
                           code_of("volume__8_4", 12)};
  races::Detector detector{
      area.bytes(), [](std::uint32_t, std::uint32_t, const sass::LaunchWords&) { return std::optional(Mode::write); },
      [this](std::uint32_t function) { return codes[function]; }};
};

}  // namespace

TEST_CASE("a copy of a whole array races with a kernel that samples it") {
  for (const bool first : {false, true}) {
    Images p;
    if (first) p.sample(1);
    p.copy(0, {});
    if (!first) p.sample(1);
    REQUIRE(p.races() == 1);
    const session::Race race = p.detector.races().front();
    const session::RaceAccess &kernel = first ? race.first : race.second, &copy = first ? race.second : race.first;
    CHECK(kernel.mode == session::RaceMode::read);
    CHECK(kernel.somewhere);
    CHECK_FALSE(kernel.exact);
    CHECK(copy.exact);
    for (const session::RaceAccess& access : {kernel, copy}) {
      CHECK(access.array == kArray);
      CHECK(access.begin == 0);
      CHECK(access.end == kRow * kRows);
    }
    CHECK_FALSE(race.possible);
  }
}

TEST_CASE("in one stream, or with another array, nothing races") {
  Images p;
  p.array(kOther);
  p.image(2, kOther, race::kOfArray);
  p.copy(0, {});
  p.sample(0);
  p.sample(1, 2);
  CHECK(p.races() == 0);
}

TEST_CASE("a copy of a part of an array may miss what a kernel samples") {
  for (const Images::Box& box : {Images::Box{.height = kRows - 1}, Images::Box{.width = kRow - 4}}) {
    Images p;
    p.copy(0, box);
    p.sample(1);
    CHECK(p.races() == 0);
  }
}

TEST_CASE("copies of parts of an array race where they overlap") {
  using Box = Images::Box;
  struct Pair {
    Box a, b;
    bool meet;
  };
  for (const auto& [a, b, meet] :
       {Pair{{.height = 32}, {.y = 32, .height = 32}, false}, Pair{{.height = 33}, {.y = 32, .height = 32}, true},
        Pair{{.width = 512}, {.x = 512, .width = 512}, false}, Pair{{.width = 516}, {.x = 512, .width = 512}, true}}) {
    Images p;
    p.copy(0, a), p.copy(1, b);
    CHECK(p.races() == (meet ? 1 : 0));
    // Two reads never race.
    Images q;
    q.copy(0, a, race::kIsSource), q.copy(1, b, race::kIsSource);
    CHECK(q.races() == 0);
    // The same parts of the array, with offsets and widths given in elements of 4 bytes.
    Images r;
    r.copy(0, {a.x / 4, a.y, 0, a.width / 4, a.height}, race::kInElements);
    r.copy(1, {b.x / 4, b.y, 0, b.width / 4, b.height}, race::kInElements | race::kIsSource);
    CHECK(r.races() == (meet ? 1 : 0));
  }
}

TEST_CASE("copies of boxes in an array of layers") {
  using Box = Images::Box;
  for (const std::uint64_t z : {0, 1, 2, 3}) {
    for (const Box& part : {Box{.z = 1, .width = 16, .height = 4, .depth = 2}, Box{.z = 1, .depth = 2},
                            Box{.z = 1, .width = 16, .depth = 2}, Box{.z = 1, .height = 4, .depth = 2}}) {
      Images p;
      p.array(kOther, kRow, kRows, 4);
      p.copy(0, part, 0, kOther);
      p.copy(1, {.x = 12, .y = 3, .z = z, .width = 4, .height = 1}, 0, kOther);
      CHECK(p.races() == (z == 1 || z == 2 ? 1 : 0));
      p.copy(1, {.x = 16, .y = 4, .z = 1, .width = 4, .height = 1}, 0, kOther);
      const bool beyond = part.width == 16 || part.height == 4;
      if (z == 0) CHECK(p.races() == (beyond && !(part.width == kRow && part.height == kRows) ? 0 : 1));
    }
  }
}

TEST_CASE("a kernel that draws all of an array races with one that samples it") {
  Images p;
  p.draw(0, 256, kRows, 0);
  p.sample(1);
  CHECK(p.races() == 1);
  Images q;
  q.draw(0, 256, kRows - 1, 0);
  q.sample(1);
  CHECK(q.races() == 0);
}

TEST_CASE("kernels that draw different parts of an array do not race") {
  Images p;
  p.draw(0, 256, 32, 0), p.draw(1, 256, 32, 32);
  CHECK(p.races() == 0);
  Images q;
  q.draw(0, 256, 33, 0), q.draw(1, 256, 32, 32);
  REQUIRE(q.races() == 1);
  const session::Race race = q.detector.races().front();
  CHECK(race.first.exact);
  CHECK(race.second.exact);
  CHECK(race.second.begin == 32 * kRow);
}

TEST_CASE("two kernels that sample one array do not race") {
  Images p;
  p.sample(0), p.sample(1);
  CHECK(p.races() == 0);
}

TEST_CASE("a linear texture is the memory that it refers to") {
  Images p;
  p.image(kTexture, kMemory, 0, 4096, 1);
  p.fetch(0, 100, 200);
  p.fill(1, kMemory, 400);
  p.fill(1, kMemory + 1200, 400);
  CHECK(p.races() == 0);
  p.fill(1, kMemory + 1196, 4);
  REQUIRE(p.races() == 1);
  CHECK(p.detector.races().front().first.exact);
  CHECK(p.detector.races().front().first.array == 0);
  CHECK(p.detector.races().front().address == kMemory);
}

TEST_CASE("a texture of rows with a pitch is sampled in an unknown place of its rows") {
  for (const std::uint32_t end : {9u * 1024 + 1000, 9u * 1024 + 999}) {
    Images p;
    p.image(kTexture, kMemory, 0, 1000, 10, 1024);
    p.sample(0);
    p.fill(1, kMemory, end);
    CHECK(p.races() == (end == 9 * 1024 + 1000 ? 1 : 0));
  }
}

TEST_CASE("a handle means what was made last, and nothing once that is destroyed") {
  Images p;
  p.array(kOther);
  p.image(kTexture, kOther, race::kOfArray);
  p.copy(0, {});
  p.sample(1);
  CHECK(p.races() == 0);
  Images q;
  q.image(kTexture, 0, 0);
  q.copy(0, {});
  q.sample(1);
  CHECK(q.races() == 0);
  // The array is destroyed, and a new array gets its handle. The texture still refers to the destroyed array.
  Images r;
  r.array(kArray, 0);
  r.array(kArray);
  r.copy(0, {});
  r.sample(1);
  CHECK(r.races() == 0);
}

TEST_CASE("after a gap, arrays and textures may be different ones") {
  Images p;
  p.detector.lost(1, p.ticks);
  p.copy(0, {});
  p.sample(1);
  CHECK(p.races() == 0);
}

TEST_CASE("copies that do not fit their array are dropped") {
  Images p;
  p.copy(0, {.width = kRow + 1}), p.copy(1, {.width = kRow + 1});
  p.copy(0, {.y = 1}), p.copy(1, {.y = 1});
  p.copy(0, {.width = 0}), p.copy(1, {.width = 0});
  CHECK(p.races() == 0);
}

// ---- Tensor copies

TEST_CASE("a tensor copy races with what meets one of its boxes") {
  constexpr std::uint32_t kLoadTiles = 5, kMap = 0x70;  // the offset of the CUtensorMap in the parameters
  for (const std::uint32_t row : {63u, 64u}) {
    for (const bool known : {true, false}) {
      Images p;
      p.codes[kLoadTiles] = code_of("load_tiles", kMap + 136, "tiles");
      const auto part = [&](race::TensorMapPart which, std::uint64_t one, std::uint64_t two, std::uint64_t three) {
        std::byte* record = p.blank(Kind::tensor_map_made, operation::kNoStream);
        wire::store(record, race::kWord0, std::uint64_t{0x1234});
        wire::store(record, race::kWord1, one);
        wire::store(record, race::kWord2, two);
        wire::store(record, race::kWord3, three);
        wire::store(record, race::kOffset0, static_cast<std::uint16_t>(which));
        p.detector.record(record);
      };
      // A tensor of 96 rows of 128 floats, copied in boxes of 32 by 32 elements.
      part(race::kTensorShape, 128 | std::uint64_t{96} << 32, 0, 2 | 4 << 8 | 31 << 16 | 31 << 24);
      part(race::kTensorStrides, 512, 0, 0);
      std::byte* words = p.blank(Kind::parameters, operation::kNoStream);
      wire::store(words, operation::kSite, static_cast<decltype(operation::kSite)::type>(kLoadTiles));
      wire::store(words, race::kWord0, kMemory);
      wire::store(words, race::kOffset0, static_cast<std::uint16_t>(kMap));
      p.detector.record(words);
      std::byte* map = p.blank(Kind::tensor_map, operation::kNoStream);
      wire::store(map, race::kWord0, std::uint64_t{known ? 0x1234u : 0x4321u});
      wire::store(map, race::kOffset0, static_cast<std::uint16_t>(kMap));
      p.detector.record(map);
      std::byte* launch = p.blank(Kind::kernel, 0);
      wire::store(launch, operation::kGridX, 4u);
      wire::store(launch, operation::kGridY, std::uint16_t{2});
      wire::store(launch, operation::kGridZ, std::uint16_t{1});
      wire::store(launch, operation::kBlock, operation::Block::pack({32, 1, 1}));
      std::string parameters(176, '\0');
      std::memcpy(parameters.data() + kMap, &kMemory, sizeof kMemory);
      p.detector.record(launch, parameters);
      p.fill(1, kMemory + row * 512, 512);
      REQUIRE(p.races() == (known && row == 63 ? 1 : 0));
      if (p.races() == 1) CHECK(p.detector.races().front().first.exact);
    }
  }
}

}  // namespace images_test
