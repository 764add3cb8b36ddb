// A separate function finds the row, as in a header-only library.
#pragma once

template <typename T, typename Index>
__device__ inline const T* row_of(const T* table, Index row, int width) {
  return table + static_cast<long long>(row) * width;
}

template <typename T>
__device__ inline T element(const T* row, int column) {
  return row[column];  // ACCESS
}
