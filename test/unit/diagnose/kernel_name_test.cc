#include "diagnose/facts/kernel_name.h"

#include <doctest/doctest.h>

namespace kernel_name_test {

using cudadiag::diagnose::short_kernel_name;

TEST_CASE("a kernel's name first loses its return type and parameters") {
  CHECK(short_kernel_name("fill(int*, int)", 80) == "fill");
  CHECK(short_kernel_name("void gather<16, long>(long*, int)", 80) == "gather<16, long>");
  CHECK(short_kernel_name("void at::native::gather<16, f(int)>(long*)", 80) == "at::native::gather<16, f(int)>");
  CHECK(short_kernel_name("void (anonymous namespace)::scale<float>(float*)", 80) ==
        "(anonymous namespace)::scale<float>");
  CHECK(short_kernel_name("triton_poi_fused_add_0", 80) == "triton_poi_fused_add_0");
}

TEST_CASE("a kernel's name then loses namespaces, template arguments, and finally its end") {
  CHECK(short_kernel_name("void at::native::gather<16, long>(long*)", 20) == "gather<16, long>");
  CHECK(short_kernel_name("void at::native::gather<16, long>(long*)", 12) == "gather<...>");
  CHECK(short_kernel_name("void at::native::gather<16, long>(long*)", 8) == "gathe...");
  CHECK(short_kernel_name("void (anonymous namespace)::scale<float>(float*)", 14) == "scale<float>");
}

TEST_CASE("malformed names are handled") {
  CHECK(short_kernel_name("", 10) == "");
  CHECK(short_kernel_name("((((", 10) == "((((");
  CHECK(short_kernel_name(">>>> <<<<", 10) == ">>>> <<<<");
  CHECK(short_kernel_name("a::", 10) == "a::");
}

}  // namespace kernel_name_test
