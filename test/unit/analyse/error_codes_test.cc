#include "analyse/error_codes.h"

#include <doctest/doctest.h>

using namespace cudadiag::analyse;

TEST_CASE("codes have both names, a title and a meaning") {
  const CudaError error = cuda_error(700);
  CHECK(error.driver_name == "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK(error.runtime_name == "cudaErrorIllegalAddress");
  CHECK(error.title == "illegal memory access");
  CHECK(error.meaning == "A kernel or copy accessed memory that is not allocated on this GPU.");
}

TEST_CASE("a code that only the driver or only the runtime has leaves the other name empty") {
  CHECK(cuda_error(9).driver_name.empty());
  CHECK(cuda_error(9).runtime_name == "cudaErrorInvalidConfiguration");
  CHECK(cuda_error(202).runtime_name.empty());
  CHECK(cuda_error(916).driver_name == "CUDA_ERROR_KEY_ROTATION");
}

TEST_CASE("an unknown code says so") {
  CHECK(cuda_error(12345).code == 12345);
  CHECK(cuda_error(12345).title == "unknown CUDA error");
}

TEST_CASE("exceptions of code are another kind of error than assertions, time-outs and failures of the hardware") {
  for (const std::uint32_t exception : {715, 716, 719}) CHECK(are_of_one_kind(700, exception));
  for (const std::uint32_t hardware : {220, 226}) CHECK(are_of_one_kind(214, hardware));
  for (const std::uint32_t other : {214, 702, 710, 810, 999, 12345}) {
    CHECK_FALSE(are_of_one_kind(700, other));
    CHECK_FALSE(are_of_one_kind(other, 700));
    CHECK(are_of_one_kind(other, other));
  }
  CHECK_FALSE(are_of_one_kind(999, 12345));
}
