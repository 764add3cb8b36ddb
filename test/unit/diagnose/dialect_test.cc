#include <doctest/doctest.h>

#include "diagnose/explanation.h"

namespace dialect_test {

using namespace cudadiag;
using diagnose::dialect_of;

namespace {

symbolize::NativeFrame frame(const char* module, const char* function, bool user) {
  symbolize::NativeFrame made;
  made.module = module;
  made.function = function;
  made.file = user ? "a.cc" : "";
  made.user = user;
  return made;
}

const symbolize::NativeFrame kDriver = frame("/usr/lib/libcuda.so.1", "", false);
const symbolize::NativeFrame kUser = frame("/home/u/a", "main", true);

symbolize::SourceStack stack(std::vector<symbolize::NativeFrame> native) {
  symbolize::SourceStack made;
  made.native = std::move(native);
  return made;
}

session::Process failed(const char* call, const char* outer) {
  session::Process process;
  session::FailedCall error;
  error.call = call;
  error.outer = outer;
  error.domain = wire::error::Domain::driver;
  process.record.errors = {error};
  return process;
}

}  // namespace

TEST_CASE("a program that calls the driver gets advice on the driver API") {
  CHECK(dialect_of({}, stack({kDriver, kUser}), false).driver);
  CHECK(dialect_of(failed("cuMemcpyDtoH_v2", ""), {}, false).driver);
  CHECK(!dialect_of({}, {}, false).driver);
  CHECK(
      dialect_of({}, stack({kDriver, frame("/home/u/a", "cudaError_enum call<int>(int)", true), kUser}), false).driver);
  CHECK(!dialect_of({}, stack({kDriver, frame("/usr/lib/libfft.so", "", false), kUser}), false).driver);
}

TEST_CASE("the runtime is recognised by its library, its functions and its calls") {
  CHECK(!dialect_of({}, stack({kDriver, frame("/usr/lib/libcudart.so.13", "", false), kUser}), false).driver);
  CHECK(!dialect_of({}, stack({kDriver, frame("/home/u/a", "cudaLaunchKernel", true), kUser}), false).driver);
  CHECK(!dialect_of(failed("cuMemcpyDtoH_v2", "cudaMemcpy"), stack({kDriver, kUser}), false).driver);
}

}  // namespace dialect_test
