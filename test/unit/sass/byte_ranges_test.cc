// Tests which bytes the kernels of test/data/sass/ranges.cu use. nvcc compiled them for several architectures
// (test/data/sass/ranges). Each test also models its kernel thread by thread, and the model must give the same bytes.
#include "sass/byte_ranges.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace cudadiag::sass;

namespace {

using Sizes = std::array<std::uint32_t, 3>;

struct Architecture {
  std::string name;
  std::uint32_t bank = 0;
};
const std::vector<Architecture> kArchitectures = {{"sm75", 0x160}, {"sm80", 0x160},  {"sm86", 0x160}, {"sm89", 0x160},
                                                  {"sm90", 0x210}, {"sm100", 0x380}, {"sm120", 0x380}};

std::string code_of(const std::string& architecture, const std::string& kernel) {
  std::ifstream file(TEST_DATA "/sass/ranges/" + architecture + ".txt");
  const std::string all(std::istreambuf_iterator<char>(file), {}), mark = "// " + kernel + "\n";
  const std::size_t begin = all.find(mark);
  REQUIRE(begin != std::string::npos);
  return all.substr(begin + mark.size(), all.find("// ", begin + mark.size()) - begin - mark.size());
}

struct Parameters {
  std::string bytes;
  std::vector<std::uint32_t> addresses;

  template <typename T>
  std::uint32_t put(T value) {
    bytes.resize((bytes.size() + sizeof value - 1) / sizeof value * sizeof value);
    const auto at = static_cast<std::uint32_t>(bytes.size());
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return at;
  }
  std::uint32_t pointer() {
    const std::uint32_t at = put(0x7f0000000000u + 0x1000 * addresses.size());
    addresses.push_back(at);
    return at;
  }
};

// The bytes that a kernel uses, by parameter and access mode.
using Bytes = std::map<std::pair<std::uint32_t, Mode>, std::set<std::int64_t>>;

struct Thread {
  Sizes t, b;
  Sizes grid, block;
  Bytes* bytes;

  int x() const { return static_cast<int>(b[0] * block[0] + t[0]); }
  int y() const { return static_cast<int>(b[1] * block[1] + t[1]); }
  void use(std::uint32_t parameter, Mode mode, std::int64_t element, int size = 4) const {
    for (int byte = 0; byte < size; ++byte) (*bytes)[{parameter, mode}].insert(element * size + byte);
  }
  void read(std::uint32_t parameter, std::int64_t element, int size = 4) const {
    use(parameter, Mode::read, element, size);
  }
  void write(std::uint32_t parameter, std::int64_t element, int size = 4) const {
    use(parameter, Mode::write, element, size);
  }
};
using Model = std::function<void(const Thread&)>;

Bytes by_model(Sizes grid, Sizes block, const Model& model) {
  Bytes out;
  Sizes b{}, t{};
  for (b[2] = 0; b[2] < grid[2]; ++b[2])
    for (b[1] = 0; b[1] < grid[1]; ++b[1])
      for (b[0] = 0; b[0] < grid[0]; ++b[0])
        for (t[2] = 0; t[2] < block[2]; ++t[2])
          for (t[1] = 0; t[1] < block[1]; ++t[1])
            for (t[0] = 0; t[0] < block[0]; ++t[0]) model({t, b, grid, block, &out});
  return out;
}

Bytes by_code(const ByteRanges& code, const LaunchValues& launch) {
  Bytes out;
  for (const ParameterBytes& each : code.of(launch)) {
    if (!each.all) continue;
    auto& bytes = out[{each.parameter, each.mode}];
    for (const ByteRows& rows : each.rows) {
      for (std::uint32_t row = 0; row < rows.rows; ++row) {
        for (std::uint64_t byte = 0; byte < rows.width; ++byte) {
          bytes.insert(rows.begin + static_cast<std::int64_t>(row * rows.pitch + byte));
        }
      }
    }
  }
  return out;
}

// Compares the kernel's bytes with the model. The bytes of parameters that the model does not use must be unknown.
void check(const std::string& kernel, Sizes grid, Sizes block, const Parameters& parameters, const Model& model) {
  const Bytes expected = by_model(grid, block, model);
  for (const Architecture& architecture : kArchitectures) {
    CAPTURE(architecture.name);
    CAPTURE(kernel);
    const auto size = static_cast<std::uint32_t>(parameters.bytes.size());
    const ByteRanges code(code_of(architecture.name, kernel), {architecture.bank, size});
    CHECK(code.unknown_opcodes() == 0);
    const Bytes found = by_code(code, {grid, block, parameters.bytes, parameters.addresses});
    for (const std::uint32_t parameter : parameters.addresses) {
      for (const Mode mode : {Mode::read, Mode::write, Mode::atomic}) {
        const auto of = [&](const Bytes& bytes) {
          const auto at = bytes.find({parameter, mode});
          return at == bytes.end() ? std::set<std::int64_t>() : at->second;
        };
        CAPTURE(parameter);
        CAPTURE(static_cast<int>(mode));
        CAPTURE(of(expected).size());
        CAPTURE(of(found).size());
        CHECK((of(expected) == of(found)));
      }
    }
  }
}

}  // namespace

TEST_CASE("only accesses and fences at system scope count as such") {
  const auto uses = [](const char* line) {
    return ByteRanges(std::string("        /*0000*/ ") + line + " ;\n        /*0010*/ EXIT ;\n", {0x210, 8})
        .uses_system_scope();
  };
  for (const char* line :
       {"LDG.E.STRONG.SYS R2, desc[UR4][R2.64]", "ATOMG.E.ADD.STRONG.SYS PT, R5, desc[UR4][R2.64], R5", "MEMBAR.SC.SYS",
        "@P0 MEMBAR.ALL.SYS"}) {
    CAPTURE(line);
    CHECK(uses(line));
  }
  for (const char* line : {"LDG.E R2, desc[UR4][R2.64]", "LDG.E.SYS R2, [R2]", "LDG.E.STRONG.GPU R2, desc[UR4][R2.64]",
                           "MEMBAR.SC.GPU", "REDG.E.ADD.STRONG.GPU desc[UR4][R4.64], R11"}) {
    CAPTURE(line);
    CHECK_FALSE(uses(line));
  }
}

TEST_CASE("bytes of a kernel: one element per thread, up to a parameter") {
  for (const int n : {0, 1, 100, 255, 256, 257, 511, 512, 2000}) {
    Parameters p;
    const auto a = p.pointer(), b = p.pointer(), c = p.pointer();
    p.put(n);
    check("add", {2, 1, 1}, {256, 1, 1}, p, [=](const Thread& t) {
      if (t.x() >= n) return;
      t.read(a, t.x()), t.read(b, t.x()), t.write(c, t.x());
    });
  }
}

TEST_CASE("bytes of a kernel: a loop over the whole grid") {
  for (const int n : {1, 63, 64, 65, 1000}) {
    Parameters p;
    const auto a = p.pointer();
    p.put(n);
    check("fill", {2, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) {
      for (int i = t.x(); i < n; i += 64) t.write(a, i);
    });
  }
}

TEST_CASE("bytes of a kernel: rows and columns, and a pitch") {
  for (const auto& [width, height, pitch] :
       {std::array{20, 10, 32}, {32, 16, 32}, {17, 16, 40}, {1, 3, 5}, {40, 40, 64}}) {
    Parameters p;
    const auto a = p.pointer(), b = p.pointer();
    p.put(width), p.put(height), p.put(pitch);
    check("image", {2, 2, 1}, {16, 8, 1}, p, [=, w = width, h = height, by = pitch](const Thread& t) {
      if (t.x() >= w || t.y() >= h) return;
      t.read(a, t.y() * by + t.x()), t.write(b, t.y() * by + t.x());
    });
  }
}

TEST_CASE("bytes of a kernel: vectors and 64-bit numbers") {
  for (const long n : {1L, 100L, 128L}) {
    Parameters p;
    const auto a = p.pointer(), b = p.pointer();
    p.put(n);
    check("vec", {2, 1, 1}, {64, 1, 1}, p, [=](const Thread& t) {
      if (t.x() < n) t.read(b, t.x(), 16), t.write(a, t.x(), 16);
    });
    Parameters q;
    const auto to = q.pointer(), from = q.pointer();
    q.put(static_cast<unsigned long>(n));
    check("bytes", {2, 1, 1}, {64, 1, 1}, q, [=](const Thread& t) {
      if (t.x() < n) t.read(from, t.x(), 1), t.write(to, t.x(), 1);
    });
  }
}

TEST_CASE("bytes of a kernel: columns have gaps") {
  for (const int stride : {-3, 1, 2, 7, 1000}) {
    Parameters p;
    const auto a = p.pointer();
    p.put(75), p.put(stride);
    check("column", {3, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) {
      if (t.x() < 75) t.write(a, t.x() * stride);
    });
  }
}

TEST_CASE("bytes of a kernel: one row per block") {
  for (const int columns : {1, 31, 32, 33, 100, 513}) {
    Parameters p;
    const auto a = p.pointer(), b = p.pointer();
    p.put(columns);
    check("rows", {5, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) {
      for (int c = t.x() % 32; c < columns; c += 32) {
        const int at = static_cast<int>(t.b[0]) * columns + c;
        t.read(a, at), t.write(b, at);
      }
    });
  }
}

TEST_CASE("bytes of a kernel: a part given by a parameter") {
  for (const int begin : {0, 100, -10}) {
    Parameters p;
    const auto a = p.pointer();
    p.put(begin), p.put(70);
    check("part", {3, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) {
      if (t.x() < 70) t.read(a, begin + t.x()), t.write(a, begin + t.x());
    });
  }
}

TEST_CASE("bytes of a kernel: neighbours") {
  Parameters p;
  const auto a = p.pointer(), b = p.pointer();
  p.put(90);
  check("stencil", {3, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) {
    if (t.x() > 0 && t.x() < 89) t.read(a, t.x() - 1), t.read(a, t.x() + 1), t.write(b, t.x());
  });
}

TEST_CASE("bytes of a kernel: through shared memory") {
  for (const auto& [width, height] : {std::array{64, 64}, {50, 40}, {33, 64}}) {
    Parameters p;
    const auto a = p.pointer(), b = p.pointer();
    p.put(width), p.put(height);
    check("transpose", {2, 2, 1}, {32, 8, 1}, p, [=, w = width, h = height](const Thread& t) {
      for (int j = 0; j < 32; j += 8) {
        const int tx = static_cast<int>(t.t[0]), ty = static_cast<int>(t.t[1]), bx = static_cast<int>(t.b[0]),
                  by = static_cast<int>(t.b[1]);
        if (bx * 32 + tx < w && by * 32 + ty + j < h) t.read(a, (by * 32 + ty + j) * w + bx * 32 + tx);
        if (by * 32 + tx < h && bx * 32 + ty + j < w) t.write(b, (bx * 32 + ty + j) * h + by * 32 + tx);
      }
    });
  }
  Parameters q;
  const auto a = q.pointer(), sums = q.pointer();
  q.put(600);
  check("partial", {3, 1, 1}, {256, 1, 1}, q, [=](const Thread& t) {
    if (t.x() < 600) t.read(a, t.x());
    if (t.t[0] == 0) t.write(sums, t.b[0]);
  });
  Parameters r;
  const auto x = r.pointer(), y = r.pointer(), z = r.pointer();
  r.put(32);
  check("multiply", {2, 2, 1}, {16, 16, 1}, r, [=](const Thread& t) {
    for (int k = 0; k < 2; ++k) {
      t.read(x, t.y() * 32 + k * 16 + static_cast<int>(t.t[0]));
      t.read(y, (k * 16 + static_cast<int>(t.t[1])) * 32 + t.x());
    }
    t.write(z, t.y() * 32 + t.x());
  });
}

TEST_CASE("bytes of a kernel: only what depends on a value from memory is unknown") {
  Parameters p;
  const auto mask = p.pointer();
  p.pointer();
  p.put(100);
  check("maybe", {4, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) {
    if (t.x() < 100) t.read(mask, t.x());
  });
  Parameters q;
  q.pointer();
  const auto index = q.pointer(), b = q.pointer();
  q.put(100);
  check("gather", {4, 1, 1}, {32, 1, 1}, q, [=](const Thread& t) {
    if (t.x() < 100) t.read(index, t.x()), t.write(b, t.x());
  });
  Parameters r;
  r.pointer();
  const auto counts = r.pointer();
  r.put(100);
  check("until", {4, 1, 1}, {32, 1, 1}, r, [=](const Thread& t) {
    if (t.x() < 100) t.write(counts, t.x());
  });
}

TEST_CASE("bytes of a kernel: the smaller of two numbers") {
  for (const int last : {0, 40, 90, 500}) {
    Parameters p;
    const auto a = p.pointer();
    p.put(last);
    check("clamped", {3, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) { t.write(a, std::min(t.x(), last)); });
  }
}

TEST_CASE("bytes of a kernel: a quotient of two numbers is unknown") {
  Parameters p;
  p.pointer();
  p.put(100), p.put(7), p.put(32);
  check("divided", {4, 1, 1}, {32, 1, 1}, p, [](const Thread&) {});
}

TEST_CASE("bytes of a kernel: an atomic operation by one thread for others is unknown") {
  Parameters p;
  p.pointer();
  p.put(100);
  check("count", {4, 1, 1}, {32, 1, 1}, p, [](const Thread&) {});
}

TEST_CASE("bytes of a kernel: as many as the thread's index says") {
  Parameters p;
  const auto a = p.pointer();
  p.put(9);
  check("triangle", {1, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) {
    for (int j = 0; t.x() < 9 && j <= t.x(); ++j) t.write(a, t.x() * 9 + j);
  });
}

TEST_CASE("bytes of a kernel: pointers in a structure") {
  Parameters p;
  p.put(70);
  p.put(0);
  const auto a = p.pointer(), b = p.pointer(), c = p.pointer();
  p.put(1.0f), p.put(0);
  check("packed", {3, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) {
    if (t.x() < 70) t.write(a, t.x()), t.read(b, t.x()), t.read(c, t.x());
  });
}

TEST_CASE("bytes of a kernel: blocks that use vectors, and the last block, which does not") {
  for (const int n : {1024, 2048, 2049, 2800}) {
    Parameters p;
    const auto a = p.pointer(), b = p.pointer();
    p.put(n);
    check("tail", {3, 1, 1}, {256, 1, 1}, p, [=](const Thread& t) {
      const int base = static_cast<int>(t.b[0]) * 1024, left = n - base;
      for (int k = 0; k < 4; ++k) {
        const int i = left >= 1024 ? static_cast<int>(t.t[0]) * 4 + k : static_cast<int>(t.t[0]) + k * 256;
        if (i < left) t.read(a, base + i), t.write(b, base + i);
      }
    });
  }
}

TEST_CASE("bytes of a kernel: one row per warp") {
  for (const int n : {5, 32, 100, 700}) {
    Parameters p;
    const auto a = p.pointer();
    p.put(n);
    check("warps", {2, 1, 1}, {256, 1, 1}, p, [=](const Thread& t) {
      const int lane = static_cast<int>(t.t[0] % 32), row = static_cast<int>(t.b[0] * 8 + t.t[0] / 32);
      for (int c = lane; c < n; c += 32) t.write(a, row * n + c);
    });
  }
}

TEST_CASE("bytes of a kernel: three dimensions") {
  for (const auto& [nx, ny, nz] : {std::array{20, 10, 3}, {16, 8, 2}, {17, 9, 4}}) {
    Parameters p;
    const auto a = p.pointer();
    p.put(nx), p.put(ny), p.put(nz);
    check("volume", {2, 2, 4}, {16, 8, 1}, p, [=, w = nx, h = ny, d = nz](const Thread& t) {
      const int z = static_cast<int>(t.b[2]);
      if (t.x() < w && t.y() < h && z < d) t.write(a, (z * h + t.y()) * w + t.x());
    });
  }
}

TEST_CASE("bytes of a kernel: compared pointers are unknown, numbers from block indices are known") {
  Parameters p;
  p.pointer();
  const auto b = p.pointer();
  p.put(10L);
  check("walk", {3, 1, 1}, {1, 1, 1}, p, [=](const Thread& t) { t.write(b, t.b[0]); });
}

TEST_CASE("bytes of a kernel: in a separate function") {
  Parameters p;
  const auto a = p.pointer();
  p.put(70);
  check("called", {3, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) {
    if (t.x() < 70) t.write(a, t.x());
  });
}

TEST_CASE("bytes of a kernel: one of two pointers, chosen by a parameter") {
  for (const int which : {0, 1}) {
    Parameters p;
    const auto a = p.pointer(), b = p.pointer();
    p.put(70), p.put(which);
    check("two", {3, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) {
      if (t.x() < 70) t.write(which != 0 ? a : b, t.x());
    });
  }
}

TEST_CASE("bytes of a kernel: loops within a thread") {
  for (const int k : {1, 3, 4, 17}) {
    Parameters p;
    const auto a = p.pointer(), b = p.pointer(), c = p.pointer();
    p.put(40), p.put(k);
    check("dot", {2, 1, 1}, {32, 1, 1}, p, [=](const Thread& t) {
      if (t.x() >= 40) return;
      for (int j = 0; j < k; ++j) t.read(a, t.x() * k + j), t.read(b, j);
      t.write(c, t.x());
    });
  }
}

namespace {

// Returns the number of uses for which all bytes are known.
std::ptrdiff_t known_in(const std::string& text) {
  Parameters p;
  p.pointer();
  const auto found = ByteRanges(text, {0x210, 8}).of({{1, 1, 1}, {32, 1, 1}, p.bytes, p.addresses});
  return std::ranges::count(found, true, &ParameterBytes::all);
}

}  // namespace

TEST_CASE("bytes of a kernel: with an unknown opcode, nothing is known") {
  const std::string before = "/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n",
                    after = "/*0020*/ STG.E desc[UR4][R2.64], R9 ;\n/*0030*/ EXIT ;\n";
  CHECK(known_in(before + "/*0010*/ FADD R9, R8, 1 ;\n" + after) == 1);
  const std::string text = before + "/*0010*/ FROB R9, R8 ;\n" + after;
  CHECK(known_in(text) == 0);
  CHECK(ByteRanges(text, {0x210, 8}).unknown_opcodes() == 1);
}

TEST_CASE("bytes of a kernel: an instruction that waits sets its predicate to an unknown value") {
  const std::string code = "/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n/*0010*/ ISETP.EQ.AND P0, PT, RZ, RZ, PT ;\n";
  const std::string rest = "/*0030*/ @!P0 STG.E desc[UR4][R2.64], R9 ;\n/*0040*/ EXIT ;\n";
  CHECK(known_in(code + rest) == 1);
  CHECK(known_in(code + "/*0020*/ SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R0 ;\n" + rest) == 0);
}

TEST_CASE("bytes of a kernel: a pair of words that is moved to RZ changes no register") {
  const std::string code = "/*0000*/ LDC.64 R0, c[0x0][0x210] ;\n/*0010*/ LDC.64 RZ, c[0x0][0x210] ;\n";
  CHECK(known_in(code + "/*0020*/ STG.E desc[UR4][R0.64], R9 ;\n/*0030*/ EXIT ;\n") == 1);
}

TEST_CASE("bytes of a kernel: uses by other instructions through a parameter") {
  const std::string load = "/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n/*0010*/ STG.E desc[UR4][R2.64], R9 ;\n";
  CHECK(known_in(load + "/*0020*/ EXIT ;\n") == 1);
  // The called function is not in this code.
  CHECK(known_in(load +
                 "/*0020*/ MOV R4, R2 ;\n/*0030*/ MOV R5, R3 ;\n/*0040*/ CALL.ABS.NOINC R20 ;\n/*0050*/ EXIT ;\n") ==
        0);
  // It is unknown at which instruction a thread exits.
  CHECK(known_in("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n/*0010*/ @P0 EXIT ;\n/*0020*/ STG.E desc[UR4][R2.64], R9 "
                 ";\n/*0030*/ EXIT ;\n") == 0);
  // It is unknown whether the thread executes the load.
  CHECK(known_in(load + "/*0020*/ @P0 LDG.E R8, desc[UR4][R2.64+0x4] ;\n/*0030*/ EXIT ;\n") == 0);
  CHECK(known_in(load + "/*0020*/ @!PT LDG.E R8, desc[UR4][R2.64+0x4] ;\n/*0030*/ EXIT ;\n") == 1);
  // The code ends without an unconditional EXIT.
  CHECK(known_in("/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n/*0010*/ STG.E desc[UR4][R2.64], R9 ;\n/*0020*/ @P0 EXIT ;\n") ==
        0);
  // If the warp has diverged, its threads branch to code that does the same work.
  CHECK(known_in(load + "/*0020*/ BRA.DIV UR4, 0x40 ;\n/*0030*/ EXIT ;\n/*0040*/ BRA 0x30 ;\n") == 1);
  // The analysis gives up on an endless loop.
  CHECK(known_in(load + "/*0020*/ BRA 0x20 ;\n") == 0);
}

TEST_CASE("bytes of a kernel: a division that may call a function") {
  for (const auto& [width, first, last] : {std::array{40, 1, 5}, {64, 2, 3}, {70, 1, 9}}) {
    Parameters p;
    const auto a = p.pointer(), b = p.pointer();
    p.put(width), p.put(first), p.put(last);
    check("thirds", {2, 6, 1}, {32, 1, 1}, p, [=, w = width, f = first, l = last](const Thread& t) {
      const int x = t.x(), y = f + static_cast<int>(t.b[1]);
      if (x >= w || y >= l) return;
      for (const int row : {y - 1, y, y + 1}) t.read(a, row * w + x);
      t.write(b, y * w + x);
    });
  }
}

TEST_CASE("bytes of a kernel: certain reads are known although the writes are not") {
  for (const Architecture& architecture : kArchitectures) {
    CAPTURE(architecture.name);
    Parameters p;
    const auto a = p.pointer();
    const ByteRanges code(code_of(architecture.name, "cleared"), {architecture.bank, 8});
    const auto found = code.of({{2, 1, 1}, {64, 1, 1}, p.bytes, p.addresses});
    REQUIRE(found.size() == 1);
    CHECK(found[0].parameter == a);
    CHECK(found[0].mode == Mode::read);
    CHECK(!found[0].all);
    CHECK(found[0].rows == std::vector<ByteRows>{{0, 512, 0, 1}});
  }
}
