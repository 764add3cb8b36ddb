// Skips (77) on a GPU that can read pageable host memory, because a host pointer does not cause a failure there.
#pragma once
#include <cstdio>
#include <cstdlib>

inline void needs_no_pageable_access() {
  int reads = 0;
  cudaDeviceGetAttribute(&reads, cudaDevAttrPageableMemoryAccess, 0);
  if (!reads) return;
  fprintf(stderr, "this GPU reads pageable host memory: a host pointer does not fail\n");
  exit(77);
}

// The driver usually reuses a freed address, but is not required to.
inline void needs_same_address(const void* freed, const void* next) {
  if (freed == next) return;
  fprintf(stderr, "the driver gave another address this time\n");
  exit(77);
}
