// The table of opcodes: what each one does, what it writes, and which memory and threads it involves. Every analysis of
// code reads it, so a new opcode is one word in one line of opcodes.cc. Internal to lib/sass.
#include <algorithm>
#include <unordered_map>

#include "sass/instruction.h"

namespace cudadiag::sass {
namespace {

using enum Shape;
using enum AccessKind;
using enum Space;

constexpr Opcode kUnknown;
// Later architectures may have more opcodes of these families.
constexpr Opcode kHidden{"", Op::access, Result::many, hidden}, kMatrix{"", Op::other, Result::tile},
    kSetsPredicates{"", Op::set_predicates, Result::none};

constexpr Opcode joining(Joins joins, std::string_view names, Op op, Result result, Shape shape = none) {
  return {names, op, result, shape, load, global, joins};
}

constexpr Opcode kTable[] = {
    // ---- evaluated
    {"MOV R2UR LDC LDCU", Op::move, Result::one},
    {"SEL", Op::choose, Result::one},
    {"S2R S2UR", Op::special, Result::one},
    {"CS2R", Op::special, Result::two},
    {"IADD3 IADD VIADD", Op::add, Result::one},
    {"IMAD", Op::multiply, Result::one},
    {"LEA", Op::scale, Result::one},
    {"SHF", Op::shift, Result::one},
    {"LOP3", Op::combine, Result::one},
    {"IABS", Op::absolute, Result::one},
    {"IMNMX VIMNMX VIADDMNMX", Op::least, Result::one},
    {"PRMT", Op::permute, Result::one},
    {"SGXT", Op::extend, Result::one},
    {"HFMA2", Op::halves, Result::one},
    {"ISETP", Op::compare, Result::none},
    {"PLOP3", Op::decide, Result::none},
    {"FSETP HSETP2 DSETP FCHK R2P UR2UP", Op::set_predicates, Result::none},
    joining(Joins::lanes, "SHFL", Op::shuffle, Result::one),
    // ---- numbers
    {"SHL SHR BMSK POPC FLO", Op::integer, Result::one},
    {"BREV I2F I2FP F2I F2F F2FP IMUL FADD FMUL FFMA FSEL FMNMX FRND MUFU HADD2 HMUL2", Op::number, Result::one},
    {"DADD DMUL DFMA", Op::number, Result::two},
    {"IDP IDP4A", Op::number},
    {"HMMA IMMA DMMA QGMMA", Op::number, Result::tile},
    // ---- other results
    {"LOP FMNMX3 I2I HSET2 FSET P2R P2UR BMOV FSWZADD", Op::other, Result::one},
    joining(Joins::lanes, "VOTE VOTEU MATCH REDUX", Op::other, Result::one),
    joining(Joins::lanes, "CREDUX", Op::other, Result::many),
    {"LEPC FADD2 FMUL2 FFMA2", Op::other, Result::two},
    {"I2IP F2IP HMNMX2 DMNMX VIMNMX3 VHMNMX MOVM TXQ VABSDIFF B2R R2B ELECT GETLMEMBASE QSPC", Op::other},
    {"UTCBAR UTCCP UTCATOMSWS CGAERRBAR", Op::other},
    {"QMMA BMMA HGMMA IGMMA BGMMA OMMA UTCHMMA UTCQMMA UTCIMMA", Op::other, Result::tile},
    // ---- memory
    {"LDG", Op::access, Result::one, plain, load, global},
    {"LD", Op::access, Result::one, plain, load, generic},
    {"LDL", Op::access, Result::one, plain, load, local},
    {"LDS", Op::access, Result::one, plain, load, shared},
    {"LDSM", Op::access, Result::many, plain, load, shared},
    {"STG", Op::access, Result::none, plain, store, global},
    {"ST", Op::access, Result::none, plain, store, generic},
    {"STL", Op::access, Result::none, plain, store, local},
    {"STS STSM", Op::access, Result::none, plain, store, shared},
    {"ATOMG", Op::access, Result::one, plain, atomic, global},
    {"ATOM", Op::access, Result::one, plain, atomic, generic},
    {"ATOMS", Op::access, Result::one, plain, atomic, shared},
    {"REDG", Op::access, Result::none, plain, atomic, global},
    {"RED", Op::access, Result::none, plain, atomic, generic},
    {"LDGSTS", Op::access, Result::none, plain, copy, global},
    {"UBLKCP", Op::access, Result::none, bulk, copy, global},
    {"UBLKRED", Op::access, Result::none, bulk, atomic, global},
    {"UTMALDG", Op::access, Result::none, box, load, global},
    {"UTMASTG", Op::access, Result::none, box, store, global},
    {"UTMAREDG", Op::access, Result::none, box, atomic, global},
    {"TEX TLD TLD4 TXD", Op::access, Result::many, texture, load},
    {"SULD", Op::access, Result::many, surface, load},
    {"SUST", Op::access, Result::none, surface, store},
    {"SURED", Op::access, Result::none, surface, atomic},
    {"LDGMC SUATOM", Op::access, Result::many, hidden},
    {"STAS", Op::access, Result::none, own, store, shared},
    {"LDTM", Op::other, Result::tile, own},
    {"STTM ARRIVES", Op::other, Result::none, own},
    {"TMML", Op::other, Result::many, own},
    joining(Joins::others, "SYNCS", Op::other, Result::many, own),
    // ---- no result
    {"NOP YIELD NANOSLEEP DEPBAR LDGDEPBAR MEMBAR ERRBAR BREAK CCTL CCTLL CCTLT FENCE BPT PMTRIG PREEXIT", Op::nothing,
     Result::none},
    {"WARPGROUP UTMAPF UBLKPF UTMACCTL UTMACMDFLUSH ENDCOLLECTIVE ACQSHMINIT "
     "USETMAXREG",
     Op::nothing, Result::none},
    joining(Joins::block, "BAR UBAR", Op::nothing, Result::none),
    joining(Joins::others, "ACQBULK UCGABAR_ARV UCGABAR_WAIT", Op::nothing, Result::none),
    joining(Joins::warp, "WARPSYNC", Op::meet, Result::none),
    {"BRA JMP", Op::jump, Result::none},
    {"BRX BRXU JMX JMXU", Op::table_jump, Result::none},
    {"EXIT", Op::exit, Result::none},
    {"KILL RTT", Op::stop, Result::none},
    {"BSSY", Op::set_barrier, Result::none},
    {"BSYNC", Op::sync, Result::none},
    {"CALL", Op::call, Result::none},
    {"RET", Op::back, Result::none},
};

std::unordered_map<std::string_view, const Opcode*> rows_by_name() {
  std::unordered_map<std::string_view, const Opcode*> out;
  for (const Opcode& row : kTable) {
    for (std::string_view rest = row.names; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      out.emplace(rest.substr(0, end), &row);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return out;
}

}  // namespace

const Opcode& opcode_of(std::string_view base, bool describes_memory) {
  static const std::unordered_map<std::string_view, const Opcode*> kRows = rows_by_name();
  auto row = kRows.find(base);
  if (row == kRows.end() && base.starts_with('U')) row = kRows.find(base.substr(1));
  if (row != kRows.end()) return *row->second;
  if (base.ends_with("SETP")) return kSetsPredicates;
  if (base.ends_with("MMA")) return kMatrix;
  for (const std::string_view family : {"UBLK", "UTMA", "SUATOM", "MULTIMEM"}) {
    if (base.starts_with(family)) return kHidden;
  }
  return describes_memory ? kHidden : kUnknown;
}

bool is_known(const Opcode& code) { return !code.names.empty(); }

}  // namespace cudadiag::sass
