#include <doctest/doctest.h>

#include "session/saved_results.h"

using namespace cudadiag::session;

TEST_CASE("the code of kernels is read back as it was written") {
  const std::vector<KernelCode> codes = {{"_Z4fillPf", 0x210, 24, true, "/*0000*/ EXIT ;\n"},
                                         {"_Z4fillPf", 0x160, 16, false, "/*0000*/ NOP ;\n"}};
  CHECK(parse_kernel_code(write_kernel_code(codes)) == codes);
  CHECK(parse_kernel_code(write_kernel_code({})) == std::vector<KernelCode>());
}

TEST_CASE("a different document is not the code of kernels") {
  CHECK_FALSE(parse_kernel_code(""));
  CHECK_FALSE(parse_kernel_code("[]"));
  CHECK_FALSE(parse_kernel_code(R"({"schema": "cudadiag.kernel-code/2", "kernels": []})"));
  CHECK_FALSE(parse_kernel_code(R"({"schema": "cudadiag.kernel-code/1"})"));
  CHECK_FALSE(parse_kernel_code(R"({"schema": "cudadiag.kernel-code/1", "kernels": [1]})"));
}

TEST_CASE("a value of the wrong type keeps its default") {
  const auto codes =
      parse_kernel_code(R"({"schema": "cudadiag.kernel-code/1", "kernels": [{"kernel": 1, "bank_offset": -1}]})");
  REQUIRE(codes);
  CHECK(*codes == std::vector<KernelCode>(1));
}
