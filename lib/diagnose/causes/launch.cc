// Rules for refused launches: shapes and sizes that the GPU or the kernel does not support.

#include <fmt/core.h>

#include <limits>

#include "diagnose/causes/case.h"
#include "diagnose/causes/rule.h"

namespace cudadiag::causes {
namespace {

// The limits that all GPUs of compute capability 3.0 to 12.x share.
constexpr std::uint64_t kThreads = 1024;
constexpr Dim3 kMostBlock = {1024, 1024, 64}, kMostGrid = {2147483647, 65535, 65535};
constexpr std::uint32_t kSharedByDefault = 48u << 10;
constexpr std::uint32_t kSharedAtMost = 227u << 10;  // compute capability 9.0 and 10.0; others have less
constexpr std::uint64_t kRegisters = 65536;          // per multiprocessor, and therefore at most per block
constexpr std::uint64_t kMostRegisters = 255;        // the most that a thread can have

std::string dimensions(const Dim3& d) { return fmt::format("{},{},{}", d[0], d[1], d[2]); }

// Returns the product of the dimensions, or the largest 64-bit number if the product does not fit.
std::uint64_t volume(const Dim3& d) {
  std::uint64_t product = std::uint64_t{d[0]} * d[1];
  return __builtin_mul_overflow(product, d[2], &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

bool exceeds(const Dim3& d, const Dim3& most) { return d[0] > most[0] || d[1] > most[1] || d[2] > most[2]; }

void add_shape(const Case& failed, Facts& facts) {
  facts.add("grid", dimensions(failed.launch().grid));
  facts.add("block", dimensions(failed.launch().block));
  const std::uint64_t threads = volume(failed.launch().block);
  if (threads < std::numeric_limits<std::uint64_t>::max()) facts.add("threads", std::to_string(threads));
}

bool empty(const Case& failed, Facts& facts) {
  add_shape(failed, facts);
  return failed.is_launch() && volume(failed.launch().block) > 0 && volume(failed.launch().grid) == 0;
}

bool empty_block(const Case& failed, Facts& facts) {
  add_shape(failed, facts);
  return failed.is_launch() && volume(failed.launch().grid) > 0 && volume(failed.launch().block) == 0;
}

bool block_too_large(const Case& failed, Facts& facts) {
  add_shape(failed, facts);
  return failed.is_launch() && (volume(failed.launch().block) > kThreads || exceeds(failed.launch().block, kMostBlock));
}

bool grid_too_large(const Case& failed, Facts& facts) {
  add_shape(failed, facts);
  return failed.is_launch() && exceeds(failed.launch().grid, kMostGrid);
}

bool grid_is_no_multiple(const Case& failed, Facts& facts) {
  const Dim3 &grid = failed.launch().grid, &cluster = failed.launch().cluster;
  facts.add("grid", dimensions(grid));
  facts.add("cluster", dimensions(cluster));
  if (!failed.is_launch() || volume(cluster) == 0) return false;
  return grid[0] % cluster[0] != 0 || grid[1] % cluster[1] != 0 || grid[2] % cluster[2] != 0;
}

bool exceeds_kernel(const Case& failed, Facts& facts) {
  add_shape(failed, facts);
  facts.add("most", std::to_string(failed.refused().most_threads));
  return failed.is_launch() && failed.refused().most_threads > 0 &&
         volume(failed.launch().block) > failed.refused().most_threads;
}

bool exceeds_shared(const Case& failed, Facts& facts) {
  facts.add("shared", std::to_string(failed.launch().shared_bytes));
  facts.add("most", std::to_string(failed.refused().most_shared));
  return failed.is_launch() && failed.refused().most_shared > 0 &&
         failed.launch().shared_bytes > failed.refused().most_shared;
}

bool more_shared_than_any(const Case& failed, Facts& facts) {
  facts.add("shared", std::to_string(failed.launch().shared_bytes));
  return failed.is_launch() && failed.launch().shared_bytes > kSharedAtMost;
}

bool shared_not_opted_in(const Case& failed, Facts& facts) {
  facts.add("shared", std::to_string(failed.launch().shared_bytes));
  return failed.is_launch() && failed.launch().shared_bytes > kSharedByDefault;
}

bool too_many_registers(const Case& failed, Facts& facts) {
  add_shape(failed, facts);
  const std::uint64_t threads = volume(failed.launch().block);
  if (!failed.is_launch() || threads == 0) return false;
  facts.add("registers", std::to_string(kRegisters / threads));
  // A thread never has more than kMostRegisters, however small the block is.
  return failed.launch().shared_bytes <= kSharedByDefault && kRegisters / threads < kMostRegisters;
}

bool cooperative(const Case& failed, Facts& facts) {
  add_shape(failed, facts);
  facts.add("blocks", std::to_string(volume(failed.launch().grid)));
  return failed.is_launch();
}

constexpr std::string_view kLimits =
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#features-and-technical-specifications";

}  // namespace

const std::vector<Rule>& launch_rules() {
  static const std::vector<Rule> rules = {
      {.id = "empty-grid",
       .codes = {1, 9},
       .when = empty,
       .texts = {"the grid {grid} has no blocks: a launch must have at least one"},
       .fix =
           {"skip the launch if there is no work: the batch or tensor is empty, or n is 0 in (n + block - 1) / block"},
       .link = kLimits},
      {.id = "empty-block",
       .codes = {1, 9},
       .when = empty_block,
       .texts = {"the block {block} has no threads"},
       .fix = {"check how the block size is computed: grid and block may be swapped"},
       .link = kLimits},
      {.id = "block-too-large",
       .codes = {1, 9, 701},
       .when = block_too_large,
       .texts = {"a block of {block}[ ({threads} threads)] is larger than any GPU supports: at most 1024 threads, and "
                 "1024,1024,64 in x,y,z"},
       .fix = {"use at most 1024 threads per block, and more blocks", "check that grid and block are not swapped"},
       .link = kLimits},
      {.id = "block-too-large-for-kernel",
       .codes = {1, 9, 701},
       .when = exceeds_kernel,
       .texts = {"a block of {block} has {threads} threads, and this kernel allows at most {most}, because of its "
                 "__launch_bounds__ or its registers"},
       .fix = {"use at most {most} threads per block",
               "or compile the kernel for larger blocks: __launch_bounds__({threads}), or nvcc -maxrregcount"},
       .link = kLimits},
      {.id = "grid-too-large",
       .codes = {1, 9},
       .when = grid_too_large,
       .texts = {"a grid of {grid} is larger than any GPU supports: at most 2147483647,65535,65535"},
       .fix = {"put the large dimension (batch, rows) in x, or loop over it inside the kernel",
               "in a framework, split the batch: 65535 is the limit in y and z"},
       .link = kLimits},
      {.id = "shared-memory-too-large",
       .codes = {1, 9, 701},
       .when = more_shared_than_any,
       .texts = {"the launch requests {shared} bytes of dynamic shared memory; no GPU allows a block more than 232448"},
       .fix = {"use smaller tiles or fewer pipeline stages (Triton: BLOCK_*, num_stages)"},
       .link = kLimits},
      {.id = "shared-memory-too-large",
       .codes = {1, 9, 701},
       .when = exceeds_shared,
       .texts = {"the launch requests {shared} bytes of dynamic shared memory, and the kernel has opted in to at most "
                 "{most}"},
       .fix = {"call cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, {shared}) before the "
               "launch, and check what it returns",
               "or use smaller tiles: cudaDevAttrMaxSharedMemoryPerBlockOptin gives the GPU's limit"},
       .link = kLimits},
      {.id = "shared-memory-too-large",
       .sure = Sure::often,
       .codes = {1, 9, 701},
       .when = shared_not_opted_in,
       .texts = {"the launch requests {shared} bytes of dynamic shared memory; more than 49152 bytes need an opt-in, "
                 "and often the kernel has not opted in, or the GPU cannot provide that much"},
       .fix = {"call cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before the "
               "launch, and check what it returns",
               "or use smaller tiles: cudaDevAttrMaxSharedMemoryPerBlockOptin gives the GPU's limit"},
       .link = kLimits},
      {.id = "too-many-registers",
       .sure = Sure::often,
       .codes = {701},
       .when = too_many_registers,
       .texts = {"a block of {block} leaves {registers} registers for each of its {threads} threads, and that is often "
                 "fewer than the kernel needs"},
       .fix = {"use fewer threads per block, or __launch_bounds__(threads) on the kernel (nvcc -maxrregcount); in "
               "Triton, fewer num_warps or smaller tiles"},
       .link = kLimits},
      {.id = "cooperative-too-large",
       .codes = {720},
       .when = cooperative,
       .texts = {"a cooperative launch needs all its blocks on the GPU at once, and {blocks} blocks of {threads} "
                 "threads are too many"},
       .fix = {"limit the grid to cudaOccupancyMaxActiveBlocksPerMultiprocessor blocks on each multiprocessor"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#grid-synchronization"},
      {.id = "grid-not-multiple-of-cluster",
       .codes = {912},
       .when = grid_is_no_multiple,
       .texts = {"the grid of {grid} blocks is not a multiple of the cluster of {cluster} blocks"},
       .fix = {"round the grid up to a multiple of the cluster, and let the additional blocks do nothing"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#thread-block-clusters"},
      {.id = "invalid-cluster",
       .codes = {912},
       .texts = {"the thread-block cluster does not fit: it is too large for the kernel or the GPU, or does not divide "
                 "the grid"},
       .fix = {"use at most 8 blocks per cluster (16 with cudaFuncAttributeNonPortableClusterSizeAllowed) and a grid "
               "that is a multiple of the cluster, and check that cudaOccupancyMaxActiveClusters returns more than 0"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#thread-block-clusters"},
  };
  return rules;
}

}  // namespace cudadiag::causes
