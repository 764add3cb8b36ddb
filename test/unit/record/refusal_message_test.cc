#include <doctest/doctest.h>

#include "record/python/refused_allocations.h"
#include "wire/error.h"

namespace cudadiag::record {
namespace {

std::uint64_t bytes_of(Refuser refuser, std::string_view message) { return refused_request(refuser, message).bytes; }

}  // namespace

TEST_CASE("exceptions of CuPy and JAX are recognised by module and type") {
  CHECK(refuser_of("cupy.cuda.memory", "OutOfMemoryError") == Refuser::cupy);
  CHECK(refuser_of("jax.errors", "JaxRuntimeError") == Refuser::jax);
  CHECK(refuser_of("jaxlib.xla_extension", "XlaRuntimeError") == Refuser::jax);
  CHECK(refuser_of("torch", "OutOfMemoryError") == Refuser::none);
  CHECK(refuser_of("builtins", "MemoryError") == Refuser::none);
  CHECK(refuser_of("tools", "XlaRuntimeError") == Refuser::none);
  CHECK(refuser_of("", "") == Refuser::none);
}

TEST_CASE("CuPy's message contains the bytes that exceed its limit") {
  const RefusedRequest request = refused_request(
      Refuser::cupy,
      "Out of memory allocating 1,572,864,000 bytes (allocated so far: 1,048,576,000 bytes, limit set to: "
      "2,147,483,648 bytes).");
  CHECK(std::string_view(request.pool) == wire::error::kCuPyPool);
  CHECK(request.bytes == 1'572'864'000);
}

TEST_CASE("without an exceeded limit, CuPy's message does not come from the pool") {
  for (const char* message :
       {"Out of memory allocating 512 bytes (allocated so far: 1,024 bytes).",
        "Out of memory allocating 512 bytes (allocated so far: 1,024 bytes, limit set to: 1,536 bytes).",
        "Out of memory allocating", "", "limit set to: 5 bytes"}) {
    CAPTURE(message);
    CHECK(refused_request(Refuser::cupy, message).pool == nullptr);
  }
}

TEST_CASE("JAX's messages contain the requested bytes") {
  CHECK(bytes_of(Refuser::jax,
                 "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 32.00GiB with allocator "
                 "GPU_0_bfc on device 0.") == std::uint64_t{32} << 30);
  CHECK(bytes_of(Refuser::jax, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 34359738368 bytes.") ==
        std::uint64_t{32} << 30);
  CHECK(bytes_of(Refuser::jax,
                 "RESOURCE_EXHAUSTED: Failed to allocate request for 24.69GiB (26508001280B) on device "
                 "ordinal 0") == 26508001280);
  CHECK(bytes_of(Refuser::jax, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.5KiB.") == 1536);
  CHECK(bytes_of(Refuser::jax, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 512B.") == 512);
}

TEST_CASE("other errors of JAX are not about memory") {
  for (const char* message :
       {"INTERNAL: Out of memory while trying to allocate 5 bytes.", "RESOURCE_EXHAUSTED: no permission",
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate ", "RESOURCE_EXHAUSTED: "}) {
    CAPTURE(message);
    CHECK(refused_request(Refuser::jax, message).pool == nullptr);
  }
}

TEST_CASE("an exception of a different library is ignored") {
  CHECK(refused_request(Refuser::none, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 5 bytes.").pool ==
        nullptr);
}

}  // namespace cudadiag::record
