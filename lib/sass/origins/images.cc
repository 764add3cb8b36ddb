// Records the texture and surface handles that instructions use. A handle is in a uniform register or, before sm_90,
// possibly in a word of constant bank 0: "0x0, 0x58" is c[0x0][0x160].
#include "sass/origins/instructions.h"

namespace cudadiag::sass {

using namespace origin;

// Returns the offset of the parameter that is the handle. Returns nullopt if the handle is, or may be, anything else.
std::optional<std::uint32_t> Instructions::handle_word(const Step& s) const {
  const auto& operands = s.i.operands;
  for (std::size_t at = operands.size(); at-- > 0;) {
    if (operands[at].starts_with("UR")) {
      const auto& origins = sets_.of(s.state.get(register_of(operands[at]), s.predicate));
      // kAddend is among the origins only if the register holds a parameter on all paths.
      const bool one = origins.size() == 2 && is_word(origins[0]) && value_of(origins[0]) == origins[0];
      return one && origins[1] == kAddend ? std::optional(origins[0]) : std::nullopt;
    }
  }
  for (std::size_t at = 0; at + 1 < operands.size(); ++at) {
    const auto word = parse_hex(operands[at + 1]);
    if (operands[at] != "0x0" || !word) continue;
    const std::uint32_t offset = 4 * *word - bank_.offset;
    return offset < bank_.size ? std::optional(offset) : std::nullopt;
  }
  return std::nullopt;
}

void Instructions::use_handle(const Step& s, bool surface, Mode mode) {
  if (const auto word = handle_word(s); noting_ && word) handles_[at_] = {*word, surface, mode};
}

void Instructions::read_texture(const Step& s) {
  use_handle(s, false, Mode::read);
  compute(s);
}

void Instructions::read_surface(const Step& s) {
  use_handle(s, true, Mode::read);
  forget_conditions(s);
  set_words(s, 0);
}

void Instructions::write_surface(const Step& s) { use_handle(s, true, Mode::write); }

void Instructions::reduce_surface(const Step& s) { use_handle(s, true, Mode::atomic); }

}  // namespace cudadiag::sass
