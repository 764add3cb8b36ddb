#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "evidence/tool_text.h"

using namespace cudadiag::evidence;
namespace fs = std::filesystem;

namespace {

using Dim3 = std::array<std::uint32_t, 3>;

std::string line(int block, int thread, const std::string& condition = "p[i] > 0") {
  return "/src/a.cu:17: scale: block: [" + std::to_string(block) + ",0,0], thread: [" + std::to_string(thread) +
         ",0,0] Assertion `" + condition + "` failed.\n";
}

std::string dsa(int index, int thread) {
  return "Assertion failure " + std::to_string(index) +
         "\n  GPU assertion failure message = a != a\n  File containing assertion = /src/c:1/test.cu:21\n"
         "  Device function containing assertion = always_fails\n  Thread ID that failed assertion = [" +
         std::to_string(thread) +
         ",0,0]\n  Block ID that failed assertion = [2,1,0]\n"
         "  Name of kernel launched that led to failure = always_fails\n";
}

}  // namespace

TEST_CASE("threads that failed the same assertion are one entry") {
  const auto found = assertions_in("starting\n" + line(1, 7) + line(1, 8) + line(0, 7) + "done\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].condition == "p[i] > 0");
  CHECK(found[0].file == "/src/a.cu");
  CHECK(found[0].line == 17);
  CHECK(found[0].function == "scale");
  CHECK(found[0].block == Dim3{1, 0, 0});
  CHECK(found[0].thread == Dim3{7, 0, 0});
  CHECK(found[0].threads == 3);
}

TEST_CASE("a thread that is printed twice counts once") {
  const auto found = assertions_in(line(1, 7) + line(1, 7));
  REQUIRE(found.size() == 1);
  CHECK(found[0].threads == 1);
}

TEST_CASE("different assertions are kept apart, in order of appearance") {
  const auto found = assertions_in(line(0, 1, "b") + line(0, 2, "a") + line(0, 3, "b"));
  REQUIRE(found.size() == 2);
  CHECK(found[0].condition == "b");
  CHECK(found[0].threads == 2);
  CHECK(found[1].condition == "a");
}

TEST_CASE("names as printed by CUDA, PyTorch and Triton") {
  const auto found = assertions_in(
      "a dir/b.cu:5: void N::f<int>(const T *) [with T = int]: block: [0,0,0], thread: [1,2,3] Assertion `x` failed.\n"
      "/pytorch/aten/src/ATen/native/cuda/IndexKernelUtils.cu:16: vectorized_gather_kernel: block: [77,0,0], thread: "
      "[3,0,0] Assertion `ind >=0 && ind < ind_dim_size && \"vectorized gather kernel index out of bounds\"` failed.\n"
      "/home/u/softmax.py:10: unknown: block: [0,0,0], thread: [0,0,0] Assertion `a: 3` failed\n");
  REQUIRE(found.size() == 3);
  CHECK(found[0].file == "a dir/b.cu");
  CHECK(found[0].function == "void N::f<int>(const T *) [with T = int]");
  CHECK(found[0].thread == Dim3{1, 2, 3});
  CHECK(found[1].line == 16);
  CHECK(found[1].block == Dim3{77, 0, 0});
  CHECK(found[1].condition == "ind >=0 && ind < ind_dim_size && \"vectorized gather kernel index out of bounds\"");
  CHECK(found[2].file == "/home/u/softmax.py");
  CHECK(found[2].function == "");
}

TEST_CASE("a timestamp at the start of the line, and a line that another one interrupted") {
  const auto timed = assertions_in("2026-11-22 12:30:15: " + line(0, 1) + "at 9:45: " + line(0, 2));
  REQUIRE(timed.size() == 1);
  CHECK(timed[0].file == "/src/a.cu");
  CHECK(timed[0].line == 17);
  CHECK(timed[0].function == "scale");
  CHECK(timed[0].threads == 2);
  const auto cut = assertions_in("/src/b.cu:5: shift: blo" + line(0, 3));
  REQUIRE(cut.size() == 1);
  CHECK(cut[0].line == 17);
  CHECK(cut[0].function == "scale");
}

// In a line of colons, each colon could be the one before the line number. A parser that backtracks would be slow.
TEST_CASE("a line of colons does not take longer than others") {
  const std::string colons = std::string(30'000, ':') + " x: block: [0,0,0], thread: [0,0,0] Assertion `x` failed.\n";
  std::string output;
  for (int i = 0; i < 250; ++i) output += colons;
  CHECK(assertions_in(output).empty());
}

TEST_CASE("other output on the same line") {
  const std::string plain = line(0, 0);
  const auto found =
      assertions_in("[rank0]: " + line(0, 1) + "loss 0.1 " + line(0, 2) + "epoch 3:" + line(0, 3) + "10%|## | 3/30\r" +
                    line(0, 4) + "12" + line(0, 5) + plain.substr(0, plain.size() - 1) + line(0, 6));
  REQUIRE(found.size() == 1);
  CHECK(found[0].file == "/src/a.cu");
  CHECK(found[0].threads == 7);
}

TEST_CASE("lines that end in CR LF") {
  std::string text = line(0, 1);
  text.insert(text.size() - 1, "\r");
  const auto found = assertions_in(text + text);
  REQUIRE(found.size() == 1);
  CHECK(found[0].condition == "p[i] > 0");
}

TEST_CASE("a truncated line is ignored and affects nothing else") {
  const std::string whole = line(4, 5);
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
    const auto found = assertions_in(whole.substr(0, size) + "\n" + line(0, 9));
    REQUIRE(found.size() == 1);
    CHECK(found[0].threads == (whole.find("` failed") + 8 <= size ? 2 : 1));
  }
  // One line begins inside another, so the condition at the end could belong to either line.
  CHECK(assertions_in(whole.substr(0, whole.size() - 14) + line(0, 9)).empty());
}

TEST_CASE("texts that only resemble an assertion") {
  for (const char* text : {"Assertion `x` failed.", "a.c:3: main: Assertion `x` failed.",
                           ": block: [0,0,0], thread: [0,0,0] Assertion `x` failed.",
                           "a.cu:x: f: block: [0,0,0], thread: [0,0,0] Assertion `x` failed.",
                           "a.cu:1: f: block: [0,0], thread: [0,0,0] Assertion `x` failed.",
                           "a.cu:1: f: block: [0,0,0,0], thread: [0,0,0] Assertion `x` failed.",
                           "a.cu:1: f: block: [-1,0,0], thread: [0,0,0] Assertion `x` failed.",
                           "a.cu:99999999999: f: block: [0,0,0], thread: [0,0,0] Assertion `x` failed.",
                           "a.cu:1: f: block: [0,0,99999999999], thread: [0,0,0] Assertion `x` failed."}) {
    CAPTURE(text);
    CHECK(assertions_in(text).empty());
  }
}

TEST_CASE("limits for hostile output") {
  CHECK(assertions_in(line(0, 0, std::string(kLongestPart + 1, 'x'))).empty());
  std::string many;
  for (std::size_t i = 0; i < 3 * kMostAssertions; ++i) many += line(0, 0, std::to_string(i));
  CHECK(assertions_in(many).size() == kMostAssertions);
  const auto escape = assertions_in(line(0, 0, "a\x1b[2J\xff"));
  REQUIRE(escape.size() == 1);
  CHECK(escape[0].condition == "a\x1b[2J\xff");
  CHECK(assertions_in(std::string(1 << 20, '\0')).empty());
}

TEST_CASE("assertions that PyTorch keeps and prints in its exception") {
  const std::string head =
      "CUDA error: device-side assert\n2 CUDA device-side assertion failures were found on GPU #0!\n";
  // PyTorch prints the exception twice, the second time with a rank prefix.
  const auto found = assertions_in(head + dsa(0, 3) + dsa(1, 4) + "[rank0]: " + dsa(0, 3));
  REQUIRE(found.size() == 1);
  CHECK(found[0].condition == "a != a");
  CHECK(found[0].file == "/src/c:1/test.cu");
  CHECK(found[0].line == 21);
  CHECK(found[0].function == "always_fails");
  CHECK(found[0].block == Dim3{2, 1, 0});
  CHECK(found[0].thread == Dim3{3, 0, 0});
  CHECK(found[0].threads == 2);
  const std::string whole = dsa(0, 3);
  CHECK(assertions_in(whole.substr(0, whole.find("  Block"))).empty());
  CHECK(assertions_in(whole.substr(whole.find("  File"))).empty());
}

TEST_CASE("the start and the end of a large file are read") {
  const fs::path path = fs::temp_directory_path() / ("assertions-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << line(0, 1) << std::string(1000, 'x') << '\n'
                                        << line(0, 2, "in the middle") << std::string(1000, 'x') << '\n'
                                        << line(0, 3, "at the end");
  CHECK(read_assertions(path).size() == 3);
  const auto found = read_assertions(path, 500);
  REQUIRE(found.size() == 2);
  CHECK(found[0].condition == "p[i] > 0");
  CHECK(found[1].condition == "at the end");
  fs::remove(path);
  CHECK(read_assertions(path).empty());
  CHECK(read_assertions(fs::temp_directory_path()).empty());
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(read_assertions(path).empty());
  fs::remove(path);
}
