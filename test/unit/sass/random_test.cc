// Compares what the code of random kernels shows with the truth, for every domain of values and every architecture.
// Each kernel stores to an address that it computes with a random expression. nvcc compiles the expressions for the GPU
// (test/data/sass/random), and this file compiles the same expressions for the host. An answer may be unknown, but
// never wrong.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "sass/byte_ranges.h"
#include "sass/failing_address.h"

using namespace cudadiag::sass;

namespace {

using Wide = std::uint64_t;
using Signed = std::int64_t;
using Byte = signed char;

struct Arguments {
  unsigned a = 0, b = 0;
  Wide l = 0, m = 0;
};
using Expression = Wide (*)(const Arguments&, unsigned t, unsigned u, unsigned c);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wparentheses"
#define EXPRESSION(number, expression)                                                                              \
  [](const Arguments& its, [[maybe_unused]] unsigned t, [[maybe_unused]] unsigned u, [[maybe_unused]] unsigned c) { \
    [[maybe_unused]] const auto& [a, b, l, m] = its;                                                                \
    return Wide(expression);                                                                                        \
  },
constexpr Expression kExpressions[] = {
#include "../../data/sass/random/expressions.inc"
};
#pragma GCC diagnostic pop

struct Architecture {
  std::string name;
  std::uint32_t bank = 0;
};
const std::vector<Architecture> kArchitectures = {
    {"sm75", 0x160}, {"sm80", 0x160}, {"sm90", 0x210}, {"sm100", 0x380}, {"sm120", 0x380}};
constexpr Arguments kArguments[] = {{3, 100, 16, 4096},
                                    {0, 0xffffffff, 0xffffffffffffffc0, 1},
                                    {0x80000001, 77, 0x7f0012345678, 0xfedcba9876543210},
                                    {1000, 0x12345678, 0x3f8000003f800000, 0x100000000}};
constexpr Wide kOut = 0x7f1400000000;
constexpr std::array<std::uint32_t, 3> kGrid = {3, 1, 1}, kBlock = {6, 2, 1};

std::vector<std::string> codes_of(const std::string& architecture) {
  std::ifstream file(TEST_DATA "/sass/random/" + architecture + ".txt");
  const std::string all(std::istreambuf_iterator<char>(file), {});
  std::vector<std::string> out;
  for (std::size_t at = all.find("// "); at != std::string::npos;) {
    const std::size_t end = all.find("// ", at + 1);
    out.push_back(all.substr(at, end - at));
    at = end;
  }
  return out;
}

// The kernel's parameters: the address of the memory, then the arguments.
std::string bytes_of(const Arguments& arguments) {
  std::string out(32, '\0');
  std::memcpy(out.data(), &kOut, sizeof kOut);
  std::memcpy(out.data() + 8, &arguments, sizeof arguments);
  return out;
}

// Returns the offset of the kernel's only store to global memory.
std::uint32_t store_in(const std::string& code) {
  const std::size_t line = code.rfind("/*", code.find("STG"));
  return static_cast<std::uint32_t>(std::stoul(code.substr(line + 2), nullptr, 16));
}

// How many answers were known.
struct Count {
  int known = 0, all = 0;
};

void check_threads(const std::string& code, ParameterBank bank, Expression expression, Count& count) {
  for (const Arguments& arguments : kArguments) {
    FailingAddress store(code, bank, store_in(code), {bytes_of(arguments), kGrid, kBlock});
    for (const auto& [t, u, c] : {std::array{0u, 0u, 0u}, {5u, 1u, 2u}, {2u, 0u, 1u}}) {
      LaneState lane;
      lane.stands = store_in(code) + 16;
      lane.thread = {t, u, 0};
      lane.block = {c, 0, 0};
      const auto address = store.of(lane);
      ++count.all;
      if (!address) continue;
      ++count.known;
      CHECK(*address == kOut + expression(arguments, t, u, c));
    }
  }
}

std::set<Signed> offsets(const Arguments& arguments, Expression expression) {
  std::set<Signed> out;
  for (unsigned c = 0; c < kGrid[0]; ++c) {
    for (unsigned u = 0; u < kBlock[1]; ++u) {
      for (unsigned t = 0; t < kBlock[0]; ++t) out.insert(static_cast<Signed>(expression(arguments, t, u, c)));
    }
  }
  return out;
}

void check_launches(const std::string& code, ParameterBank bank, Expression expression, Count& count) {
  const ByteRanges ranges(code, bank);
  CHECK(ranges.unknown_opcodes() == 0);
  for (const Arguments& arguments : kArguments) {
    const std::set<Signed> truth = offsets(arguments, expression);
    const LaunchValues launch{kGrid, kBlock, bytes_of(arguments), {0}};
    ++count.all;
    for (const ParameterBytes& each : ranges.of(launch)) {
      std::set<Signed> found;
      for (const ByteRows& rows : each.rows) {
        for (std::uint64_t byte = 0; byte < rows.rows * rows.width; ++byte) {
          found.insert(rows.begin + static_cast<Signed>(byte / rows.width * rows.pitch + byte % rows.width));
        }
      }
      CHECK(std::includes(truth.begin(), truth.end(), found.begin(), found.end()));
      if (!each.all) continue;
      ++count.known;
      CHECK(found == truth);
    }
    const CertainAccesses certain = ranges.certain(launch);
    for (const CertainAccess& each : certain.accesses) {
      const Signed base = each.parameter == 0u ? 0 : -static_cast<Signed>(kOut);
      if (each.parameter.value_or(0) != 0) continue;  // relative to an argument
      CHECK(truth.contains(each.least + base));
      CHECK(truth.contains(each.most + base));
    }
  }
}

}  // namespace

TEST_CASE("random address arithmetic: what code shows is true on every architecture") {
  for (const Architecture& architecture : kArchitectures) {
    CAPTURE(architecture.name);
    const auto codes = codes_of(architecture.name);
    REQUIRE(codes.size() == std::size(kExpressions));
    Count threads, launches;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      CAPTURE(i);
      const ParameterBank bank{architecture.bank, 32};
      check_threads(codes[i], bank, kExpressions[i], threads);
      check_launches(codes[i], bank, kExpressions[i], launches);
      const Mode mode = read_sass(codes[i], bank).mode(0);
      CHECK((mode == Mode::write || mode == Mode::near_write || mode == Mode::unknown));
    }
    CHECK(threads.known > threads.all * 6 / 10);
    CHECK(launches.known > launches.all * 3 / 10);
  }
}
