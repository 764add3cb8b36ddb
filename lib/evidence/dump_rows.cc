#include "evidence/dump_rows.h"

namespace cudadiag::evidence {
namespace {

Dim3 dim3(Bytes row, std::uint64_t offset) { return {row.u32(offset), row.u32(offset + 4), row.u32(offset + 8)}; }

// Reads an address that is valid only if its flag is set.
std::optional<std::uint64_t> valid_address(Bytes row, std::uint64_t address, std::uint64_t flag) {
  if (row.u32(flag) == 0) return std::nullopt;
  return row.u64(address);
}

}  // namespace

// name u64 @0 (string), type u64 @8 (string), architecture u64 @16 (string), id u32 @24, PCI bus and device @28, SMs
// u32 @36, warps per SM @40, lanes per warp @44, registers @48, predicates @52, SM version @56, instruction size u32
// @64, status @68; r400: uniform registers and predicates @72; r575: convergence barriers @80
Device decode_device(Bytes row, Bytes strings) {
  return {.name = strings.text(row.u64(0)),
          .architecture = strings.text(row.u64(16)),
          .id = row.u32(24),
          .sms = row.u32(36),
          .instruction_bytes = row.u32(64)};
}

// id u64 @0, windows of shared, local and global memory @8, device u32 @32, host thread u32 @36
Context decode_context(Bytes row, Row device) {
  return {.device = device,
          .id = row.u64(0),
          .shared_window = row.u64(8),
          .local_window = row.u64(16),
          .host_thread = row.u32(36)};
}

// handle u64 @0
Module decode_module(Bytes row, Row context) { return {.context = context, .handle = row.u64(0)}; }

// id u64 @0, context u64 @8, function u64 @16, entry u64 @24, module u64 @32, parent grid @40, parameters @48,
// type @56, origin @60 (1: launched by a kernel), status, registers u32 @64, grid u32x3 @72, block u32x3 @84,
// blocking @96, host thread u32 @100;
// r525: cluster u32x3 @104; r565: preferred cluster @120
Grid decode_grid(Bytes row, Row device) {
  return {.device = device,
          .home = {},
          .id = row.u64(0),
          .context = row.u64(8),
          .entry = row.u64(24),
          .module = row.u64(32),
          .parameters = row.u64(48),
          .blocks = dim3(row, 72),
          .threads = dim3(row, 84),
          .clusters = dim3(row, 104),
          .host_thread = row.u32(100),
          .from_kernel = row.u32(60) == 1};
}

// id u32 @0; r555: exception u32 @8, PC valid u32 @12, PC u64 @16, target of a cluster exception @24;
// r580: text of the exception u64 @40 (string)
Sm decode_sm(Bytes row, Row device, Bytes strings) {
  return {.device = device,
          .id = row.u32(0),
          .exception = row.u32(8),
          .error_pc = valid_address(row, 16, 12),
          .exception_text = strings.text(row.u64(40))};
}

// grid u64 @0, block u32x3 @8; r525: cluster @24; r565: cluster's size @40
Cta decode_cta(Bytes row, Row sm) { return {.sm = sm, .grid = row.u64(0), .block = dim3(row, 8)}; }

// PC u64 @0, id u32 @8, valid lanes u32 @12, active lanes u32 @16, broken u32 @20, PC valid u32 @24; r525: registers
// @32; r570: shared memory u32 @40; r575: lanes in system calls and convergence masks @48
Warp decode_warp(Bytes row, Row cta) {
  return {.cta = cta,
          .home = {},
          .id = row.u32(8),
          .valid = row.u32(12),
          .active = row.u32(16),
          .broken = row.u32(20) != 0,
          .shared_bytes = row.u32(40),
          .error_pc = valid_address(row, 0, 24)};
}

// PC u64 @0, offset u64 @8, id u32 @16, thread u32x3 @20, exception u32 @32, call depth u32 @36; system call depth u32
// @40, condition codes @44; r575: convergence state @48
Lane decode_lane(Bytes row, Row warp) {
  return {.warp = warp,
          .home = {},
          .id = row.u32(16),
          .exception = row.u32(32),
          .call_depth = row.u32(36),
          .system_call_depth = row.u32(40),
          .thread = dim3(row, 20),
          .pc = row.u64(0),
          .offset = row.u64(8)};
}

// offset u64 @0, address u64 @8, level u32 @16
ReturnAddress decode_return_address(Bytes row) { return {.address = row.u64(8), .offset = row.u64(0)}; }

// generator u64 @0 (string), driver u32x2 @8, CUDA u32x2 @16, flags u32 @24, time u32 @28
Metadata decode_metadata(Bytes row) {
  return {
      .driver_major = row.u32(8), .driver_minor = row.u32(12), .cuda_major = row.u32(16), .cuda_minor = row.u32(20)};
}

}  // namespace cudadiag::evidence
