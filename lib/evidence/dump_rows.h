// Decodes the rows in a dump's tables. Fields past the end of a row are zero.
#pragma once

#include <string_view>

#include "evidence/dump.h"

namespace cudadiag::evidence {

// Returns the smallest row size that any driver version writes. A table with smaller rows is invalid.
inline constexpr std::uint64_t smallest_row(Kind kind) {
  switch (kind) {
    case Kind::devices:
      return 72;
    case Kind::contexts:
      return 40;
    case Kind::modules:
    case Kind::sms:
      return 8;
    case Kind::grids:
      return 104;
    case Kind::ctas:
    case Kind::backtrace:
      return 24;
    case Kind::warps:
    case Kind::metadata:
      return 32;
    case Kind::lanes:
      return 48;
    case Kind::registers:
    case Kind::predicates:
    case Kind::uniform_registers:
    case Kind::uniform_predicates:
      return 4;
    case Kind::parameters:
    case Kind::code:
      return 1;
  }
  return 1;
}

Device decode_device(Bytes row, Bytes strings);
Context decode_context(Bytes row, Row device);
Module decode_module(Bytes row, Row context);
Grid decode_grid(Bytes row, Row device);
Sm decode_sm(Bytes row, Row device, Bytes strings);
Cta decode_cta(Bytes row, Row sm);
Warp decode_warp(Bytes row, Row cta);
Lane decode_lane(Bytes row, Row warp);
ReturnAddress decode_return_address(Bytes row);
Metadata decode_metadata(Bytes row);

}  // namespace cudadiag::evidence
