// A GPU that can read the host's pageable memory does not fail on a host pointer. Such a run counts as skipped (77).
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

// The driver usually reuses a freed address, but need not.
inline void needs_same_address(const void* freed, const void* next) {
  if (freed == next) return;
  fprintf(stderr, "the driver gave another address this time\n");
  exit(77);
}
