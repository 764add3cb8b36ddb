#include "sass/code/memory_operands.h"

#include <vector>

namespace cudadiag::sass {

std::optional<MemoryForm> memory_form_of(const Instruction& i) {
  using enum AccessKind;
  using enum Space;
  const std::string_view base = i.base();
  if (base == "LDG") return MemoryForm{load, global};
  if (base == "LD") return MemoryForm{load, generic};
  if (base == "LDS" || base == "LDSM") return MemoryForm{load, shared};
  if (base == "LDL") return MemoryForm{load, local};
  if (base == "STG") return MemoryForm{store, global};
  if (base == "ST") return MemoryForm{store, generic};
  if (base == "STS" || base == "STSM") return MemoryForm{store, shared};
  if (base == "STL") return MemoryForm{store, local};
  if (base == "ATOMG" || base == "REDG") return MemoryForm{atomic, global};
  if (base == "ATOM" || base == "RED") return MemoryForm{atomic, generic};
  if (base == "ATOMS") return MemoryForm{atomic, shared};
  if (base == "LDGSTS" || base == "UBLKCP") return MemoryForm{copy, global};
  return std::nullopt;
}

std::uint32_t memory_bytes_of(const Instruction& i) {
  if (i.base() == "UBLKCP") return 0;  // a register contains the size
  if (is_any(i.base(), {"LDSM", "STSM"})) return 16;
  if (i.has("F32x4") || i.has("F16x8") || i.has("BF16x8")) return 16;
  if (i.has("F32x2") || i.has("F16x4") || i.has("BF16x4")) return 8;
  if (i.has("U8") || i.has("S8")) return 1;
  if (i.has("U16") || i.has("S16") || i.has("F16") || i.has("BF16")) return 2;
  if (i.has("256")) return 32;
  if (i.has("128")) return 16;
  if (i.has("64") || i.has("U64") || i.has("S64") || i.has("F64")) return 8;
  return 4;
}

std::string_view memory_place_of(const Instruction& i) {
  std::vector<std::string_view> places;
  for (const std::string_view operand : i.operands) {
    if (const std::string_view place = address_in(operand); !place.empty()) places.push_back(place);
  }
  if (i.base() != "UBLKCP") return places.empty() ? "" : places.back();
  const bool to_shared = i.opcode.find(".S.G") != std::string_view::npos;
  const bool to_global = i.opcode.find(".G.S") != std::string_view::npos;
  if (places.size() < 2 || to_shared == to_global) return "";
  return to_shared ? places[1] : places[0];
}

}  // namespace cudadiag::sass
