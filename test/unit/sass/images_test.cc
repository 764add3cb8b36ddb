// Tests which bytes of which image each kernel in test/data/sass/images/images.cu uses. nvcc compiled the kernels for
// several architectures.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sass/byte_ranges.h"

using namespace cudadiag::sass;

namespace {

struct Architecture {
  std::string name;
  std::uint32_t bank = 0;
};
const std::vector<Architecture> kArchitectures = {{"sm80", 0x160}, {"sm90", 0x210}, {"sm100", 0x380}, {"sm120", 0x380}};

ByteRanges code_of(const Architecture& architecture, const std::string& kernel, std::uint32_t size,
                   const std::string& folder = "images") {
  std::ifstream file(TEST_DATA "/sass/" + folder + "/" + architecture.name + ".txt");
  const std::string all(std::istreambuf_iterator<char>(file), {}), mark = "// " + kernel + "\n";
  const std::size_t begin = all.find(mark);
  REQUIRE(begin != std::string::npos);
  return {all.substr(begin + mark.size(), all.find("// ", begin + mark.size()) - begin - mark.size()),
          {architecture.bank, size}};
}

template <typename... Values>
std::string parameters(Values... values) {
  std::string out;
  const auto put = [&](auto value) {
    out.resize((out.size() + sizeof value - 1) / sizeof value * sizeof value);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  (put(values), ...);
  return out;
}

constexpr std::uint64_t kHandle = 3, kOut = 0x7f0000000000;

// An image of 64 rows of 1,000 bytes each. Rows begin 1,024 bytes apart.
const Image kFlat = {0, 1000, 1024, 64, 1, 65536, 4};

struct Used {
  bool known = false;
  std::vector<ByteRows> rows;
};

// Returns which bytes of an image the launch uses. The handle of the image is the parameter at offset `parameter`.
Used used(const ByteRanges& code, const LaunchValues& launch, Mode mode, std::uint32_t parameter = 0) {
  for (const ParameterBytes& each : code.of(launch)) {
    if (each.parameter == parameter && each.mode == mode) return {each.all, each.rows};
  }
  return {};
}

}  // namespace

TEST_CASE("the code of a kernel shows which parameters are handles, and how it uses their images") {
  struct Kernel {
    std::string name;
    std::uint32_t size;
    std::set<HandleUse> handles;
  };
  for (const Architecture& architecture : kArchitectures) {
    for (const Kernel& kernel :
         {Kernel{"sample__8_8_4_4", 24, {{0, false, Mode::read}}},
          Kernel{"draw__8_4_4_4", 20, {{0, true, Mode::write}}}, Kernel{"load__8_8_4_4", 24, {{0, true, Mode::read}}},
          Kernel{"fetch__8_8_4_4", 24, {{0, false, Mode::read}}}, Kernel{"typed__8_4", 12, {{0, true, Mode::write}}},
          Kernel{"volume__8_4", 12, {{0, true, Mode::write}}}, Kernel{"add__8_4", 12, {{0, true, Mode::atomic}}},
          Kernel{"inside__24", 24, {{8, false, Mode::read}, {16, true, Mode::write}}},
          Kernel{"size_only__8_8", 16, {}}}) {
      CAPTURE(architecture.name);
      CAPTURE(kernel.name);
      CHECK(code_of(architecture, kernel.name, kernel.size).accesses().handles == kernel.handles);
    }
  }
}

TEST_CASE("a handle that is chosen, indexed or loaded from memory is not known") {
  for (const Architecture& architecture : kArchitectures) {
    CAPTURE(architecture.name);
    CHECK(code_of(architecture, "either__8_8_4_8", 32).accesses().handles.empty());
    CHECK(code_of(architecture, "listed__8_8", 16).accesses().handles.empty());
    CHECK(code_of(architecture, "indexed__32_8", 40).accesses().handles.empty());
  }
}

TEST_CASE("the bytes of a surface follow from its coordinates") {
  for (const Architecture& architecture : kArchitectures) {
    CAPTURE(architecture.name);
    const ByteRanges draw = code_of(architecture, "draw__8_4_4_4", 20);
    // The launch writes 250 columns of rows 10 to 14.
    LaunchValues launch{{2, 5, 1}, {128, 1, 1}, parameters(kHandle, 250, 5, 10), {}, {kFlat}};
    const Used rows = used(draw, launch, Mode::write);
    CHECK(rows.known);
    CHECK(rows.rows == std::vector<ByteRows>{{10 * 1024, 1000, 1024, 5}});
    launch.parameters = parameters(kHandle, 100, 1, 63);
    CHECK(used(draw, launch, Mode::write).rows == std::vector<ByteRows>{{63 * 1024, 400, 0, 1}});
    // If rows have no gap between them, they form a single piece.
    launch.images = {{0, 1000, 1000, 64, 1, 64000, 4}};
    launch.parameters = parameters(kHandle, 250, 5, 10);
    CHECK(used(draw, launch, Mode::write).rows == std::vector<ByteRows>{{10000, 5000, 0, 1}});
  }
}

TEST_CASE("a coordinate outside the image leaves its bytes unknown") {
  for (const Architecture& architecture : kArchitectures) {
    CAPTURE(architecture.name);
    const ByteRanges draw = code_of(architecture, "draw__8_4_4_4", 20);
    for (const std::string& beyond :
         {parameters(kHandle, 251, 5, 10), parameters(kHandle, 250, 5, 60), parameters(kHandle, 250, 5, -1)}) {
      const LaunchValues launch{{2, 5, 1}, {128, 1, 1}, beyond, {}, {kFlat}};
      for (const ParameterBytes& each : draw.of(launch)) CHECK_FALSE(each.all);
    }
  }
}

TEST_CASE("a launch whose threads all leave early uses nothing of its image") {
  for (const Architecture& architecture : kArchitectures) {
    CAPTURE(architecture.name);
    const LaunchValues launch{{2, 5, 1}, {128, 1, 1}, parameters(kHandle, 0, 5, 10), {}, {kFlat}};
    const Used none = used(code_of(architecture, "draw__8_4_4_4", 20), launch, Mode::none);
    CHECK(none.known);
    CHECK(none.rows.empty());
  }
}

TEST_CASE("an image that is filtered is used in an unknown place") {
  for (const Architecture& architecture : kArchitectures) {
    CAPTURE(architecture.name);
    const LaunchValues launch{{2, 5, 1}, {128, 1, 1}, parameters(kHandle, kOut, 200, 5), {8}, {kFlat}};
    for (const ParameterBytes& each : code_of(architecture, "sample__8_8_4_4", 24).of(launch)) {
      CHECK(each.parameter != 0);
    }
    const Used typed = used(code_of(architecture, "typed__8_4", 12),
                            {{2, 5, 1}, {128, 1, 1}, parameters(kHandle, 200), {}, {kFlat}}, Mode::write);
    CHECK_FALSE(typed.known);
  }
}

TEST_CASE("a linear texture is read texel by texel") {
  const Image line = {0, 4096, 0, 1, 1, 0, 4}, wide = {0, 4096, 0, 1, 1, 0, 16};
  for (const Architecture& architecture : kArchitectures) {
    CAPTURE(architecture.name);
    LaunchValues launch{{2, 1, 1}, {128, 1, 1}, parameters(kHandle, kOut, 100, 200), {8}, {line}};
    CHECK(used(code_of(architecture, "fetch__8_8_4_4", 24), launch, Mode::read).rows ==
          std::vector<ByteRows>{{400, 800, 0, 1}});
    launch = {{2, 1, 1}, {128, 1, 1}, parameters(kHandle, kOut, 200), {8}, {wide}};
    CHECK(used(code_of(architecture, "fetch_four__8_8_4", 20), launch, Mode::read).rows ==
          std::vector<ByteRows>{{0, 3200, 0, 1}});
  }
}

TEST_CASE("surfaces of one dimension, of layers and of volumes") {
  const Image line = {0, 1000, 0, 1, 1, 0, 4}, lines = {0, 1024, 0, 1, 8, 1024, 4},
              flat = {0, 1024, 1024, 8, 1, 8192, 4}, volume = {0, 1024, 1024, 8, 4, 8192, 2};
  struct Kernel {
    std::string name;
    Image image;
    Mode mode;
    std::vector<ByteRows> rows;
  };
  for (const Architecture& architecture : kArchitectures) {
    for (const Kernel& kernel :
         {Kernel{"line__8_4", line, Mode::write, {{0, 400, 0, 1}}},
          Kernel{"lines__8_4", lines, Mode::write, {{0, 400, 1024, 3}}},
          Kernel{"add__8_4", flat, Mode::atomic, {{0, 400, 1024, 3}}},
          Kernel{"volume__8_4", volume, Mode::write, {{0, 200, 1024, 3}, {8192, 200, 1024, 3}}},
          Kernel{"layers__8_4", volume, Mode::write, {{0, 800, 1024, 3}, {8192, 800, 1024, 3}}}}) {
      CAPTURE(architecture.name);
      CAPTURE(kernel.name);
      const std::uint32_t depth = kernel.image.layers == 4 ? 2 : 1;
      const LaunchValues launch{{1, 3, depth}, {128, 1, 1}, parameters(kHandle, 100), {}, {kernel.image}};
      CHECK(used(code_of(architecture, kernel.name, 12), launch, kernel.mode).rows == kernel.rows);
    }
  }
}

// ---- Tensor copies

namespace {

struct Tiles {
  Architecture architecture;
  std::uint32_t map = 0;  // the offset of the CUtensorMap in the parameter bank, aligned to 64 bytes
};
const std::vector<Tiles> kTiles = {{{"sm90", 0x210}, 0x70}, {{"sm100", 0x380}, 0}, {{"sm120", 0x380}, 0}};

// A tensor of `rows` rows of 128 floats, copied in boxes of 32 by 32 elements.
TensorMap tensor(std::uint32_t parameter, std::uint64_t rows) { return {parameter, {{128, 4, 32}, {rows, 512, 32}}}; }

Used used_tiles(const Tiles& tiles, const std::string& kernel, Mode mode, std::uint64_t rows, int first = 0) {
  const ByteRanges code = code_of(tiles.architecture, kernel, tiles.map + 136, "tiles");
  LaunchValues launch{{4, 2, 1}, {32, 1, 1}, std::string(tiles.map + 136, '\0'), {tiles.map}, {}, {}};
  std::memcpy(launch.parameters.data() + tiles.map, &kOut, sizeof kOut);
  std::memcpy(launch.parameters.data() + tiles.map + 128, &first, sizeof first);
  if (rows != 0) launch.tensors = {tensor(tiles.map, rows)};
  return used(code, launch, mode, tiles.map);
}

}  // namespace

TEST_CASE("a tensor copy uses one box of the tensor") {
  for (const Tiles& tiles : kTiles) {
    CAPTURE(tiles.architecture.name);
    // On sm_120, the address of the shared memory determines how the code copies, and this address is unknown here.
    const std::vector<ByteRows> loaded{{0, 64 * 512, 0, 1}};
    const auto known = tiles.architecture.name == "sm120" ? std::vector<ByteRows>() : loaded;
    CHECK(used_tiles(tiles, "load_tiles", Mode::read, 96).rows == known);
    const Used stored = used_tiles(tiles, "store_tiles", Mode::write, 96, 16);
    CHECK(stored.known);
    CHECK(stored.rows == std::vector<ByteRows>{{16 * 512, 64 * 512, 0, 1}});
  }
}

TEST_CASE("the bytes of a box that leaves its tensor, or of an unknown tensor, are not known") {
  for (const Tiles& tiles : kTiles) {
    CAPTURE(tiles.architecture.name);
    CHECK(used_tiles(tiles, "load_tiles", Mode::read, 63).rows.empty());
    CHECK(used_tiles(tiles, "store_tiles", Mode::write, 96, 33).rows.empty());
    CHECK(used_tiles(tiles, "load_tiles", Mode::read, 0).rows.empty());
  }
}
