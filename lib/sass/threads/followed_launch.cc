#include "sass/threads/followed_launch.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "sass/code/memory_operands.h"

namespace cudadiag::sass {
namespace {

constexpr std::int64_t kMostOfImage = std::int64_t{1} << 40;  // limits both bytes and coordinates
constexpr std::uint64_t kMostRowsOfTile = 1024;

// Returns true if the instruction may write to local memory. A generic address may refer to it.
bool writes_stack(const ThreadInstruction& code) {
  return code.mode != Mode::read && (code.op == Op::local || code.generic);
}

}  // namespace

std::optional<Box> all_threads(const LaunchValues& launch) {
  Box all;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (launch.block[axis] == 0 || launch.grid[axis] == 0) return std::nullopt;
    all.high[axis] = launch.block[axis] - 1;
    all.high[axis + 3] = launch.grid[axis] - 1;
  }
  return all;
}

std::vector<ParameterBytes> FollowedLaunch::bytes() {
  std::vector<ParameterBytes> out;
  const auto threads = all_threads(launch_);
  const bool all_known = threads && follow(*threads) && !none_known_;
  for (const auto& [key, lattices] : used_) {
    const auto& [word, mode] = key;
    if (too_many_.contains(key)) continue;
    auto rows = lattices.rows(ByteRanges::kMostRows);
    if (rows) {
      out.push_back({word, mode, std::move(*rows)});
    } else {
      not_known_.insert(word);
    }
  }
  std::vector<std::uint32_t> words = launch_.addresses;
  for (const Image& image : launch_.images) words.push_back(image.parameter);
  for (const std::uint32_t word : words) {
    const auto used = used_.lower_bound({word, Mode::unknown});
    const bool unused = used == used_.end() || used->first.first != word;
    if (unused && all_known && !not_known_.contains(word)) out.push_back({word, Mode::none, {}});
  }
  for (ParameterBytes& each : out) each.all = all_known && !not_known_.contains(each.parameter);
  return out;
}

CertainAccesses FollowedLaunch::certain(const Box& threads) {
  CertainAccesses out;
  out.all_listed = follow(threads);
  out.only_these = out.all_listed && !uses_other_memory_;
  out.open = open_accesses();
  for (auto& [key, access] : certain_) out.accesses.push_back(access);
  return out;
}

bool FollowedLaunch::follow(const Box& threads) {
  open_.push_back({threads, {}});
  while (!open_.empty()) {
    Part part = std::move(open_.back());
    open_.pop_back();
    if (!follow(std::move(part))) return false;
  }
  return true;
}

// Returns false if this takes too long, or if a part reaches unknown code.
bool FollowedLaunch::follow(Part part) {
  for (;;) {
    if (++steps_ > most_steps_ || part.state.at >= code_.program.size()) return false;
    switch (step(part)) {
      case Next::on:
        break;
      case Next::ended:
      case Next::parted:
        return true;
      case Next::lost:
        return false;
    }
  }
}

FollowedLaunch::Next FollowedLaunch::part_where(const Part& part, const Cut& cut_here) {
  std::vector<Box> boxes;
  if (!cut(part.box, cut_here, kMostParts, boxes)) return Next::lost;
  parts_ += boxes.size();
  if (parts_ > kMostParts || boxes.size() < 2) return Next::lost;
  // Push in reverse, so that the first box is followed first and its bytes are joined in order.
  for (auto box = boxes.rbegin(); box != boxes.rend(); ++box) open_.push_back({*box, part.state});
  return Next::parted;
}

FollowedLaunch::Next FollowedLaunch::step(Part& part) {
  const std::uint32_t at = part.state.at;
  const ThreadInstruction& code = code_.instructions[at];
  if (code.op == Op::nothing) {
    uses_other_memory_ |= code.uses_memory;
    if (code.uses_memory) open_accesses_.insert(at);
    ++part.state.at;
    return Next::on;
  }
  Calculator calculator(part.box, part.state, code_.bank, launch_);
  const auto holds = calculator.holds(code.condition);
  if (holds && !*holds) {
    ++part.state.at;
    return Next::on;
  }
  const bool leads_elsewhere = code.op == Op::jump || code.op == Op::exit;
  if (!holds && leads_elsewhere) return detour(part);
  if (!holds && (code.op == Op::call || code.op == Op::back || code.op == Op::lost || code.op == Op::sync)) {
    return Next::lost;
  }
  if (!holds) {
    give_up_on(at);
    if (writes_stack(code)) part.state.stack.clear();
    part.state.forget(written_by(code_.program[at]));
    ++part.state.at;
    return Next::on;
  }
  switch (code.op) {
    case Op::jump:
      return jump(part, code);
    case Op::exit:
      return Next::ended;
    case Op::set_barrier:
      part.state.barriers[code.barrier] = code.target;
      break;
    case Op::sync:
      if (part.state.barriers[code.barrier] == kNone) return Next::lost;
      part.state.at = part.state.barriers[code.barrier];
      return Next::on;
    case Op::call:
    case Op::back:
      return call(part, code, calculator);
    case Op::lost:
      return Next::lost;
    case Op::access:
      return access(part, code, calculator);
    case Op::local:
      return local_access(part, code, calculator);
    default:
      give_up_on(at);
      calculator.compute({code_.program[at], code, at});
      if (calculator.needed_cut()) return part_where(part, *calculator.needed_cut());
      break;
  }
  ++part.state.at;
  return Next::on;
}

// Handles "BRA.U UP0, 0x100". If there are two operands, the first is a condition.
FollowedLaunch::Next FollowedLaunch::jump(Part& part, const ThreadInstruction& code) {
  const Instruction& i = code_.program[part.state.at];
  // The code at the target of "BRA.DIV" has the same effect as the next instruction, but for warps that have diverged.
  if (i.has("DIV")) {
    ++part.state.at;
    return Next::on;
  }
  if (code.target == kNone || i.has("CONV") || i.operands.size() > 2) return Next::lost;
  if (i.operands.size() == 2) {
    if (!is_predicate(i.operands[0])) return Next::lost;
    Calculator calculator(part.box, part.state, code_.bank, launch_);
    const auto holds = calculator.holds({predicate_slot(i.operands[0]), i.operands[0].starts_with('!')});
    if (!holds) return detour(part);
    if (!*holds) {
      ++part.state.at;
      return Next::on;
    }
  }
  part.state.at = code.target;
  return Next::on;
}

// Calls a function in the same code, or returns from one. A register contains the return address.
FollowedLaunch::Next FollowedLaunch::call(Part& part, const ThreadInstruction& code, Calculator& calculator) {
  const Instruction& i = code_.program[part.state.at];
  if (code.op == Op::call) {
    if (code.target == kNone) return Next::lost;
    part.state.at = code.target;
    return Next::on;
  }
  const Slot slot = i.operands.empty() ? kNone : register_of(i.operands[0]);
  if (slot == kNone || slot >= kStack || !i.has("REL")) return Next::lost;
  const auto back = calculator.number(part.state.registers[slot]);
  for (std::uint32_t at = 0; back && at < code_.program.size(); ++at) {
    if (code_.program[at].address != static_cast<std::uint64_t>(*back)) continue;
    part.state.at = at;
    return Next::on;
  }
  return Next::lost;
}

// We do not know which threads take the detour, so everything that the detour may write becomes unknown.
FollowedLaunch::Next FollowedLaunch::detour(Part& part) {
  const Detours::Detour* found = code_.detours.from(part.state.at);
  if (found == nullptr || !found->known) return Next::lost;
  const Detours::Detour& detour = *found;
  for (const std::uint32_t at : detour.code) {
    give_up_on(at);
    Calculator calculator(part.box, part.state, code_.bank, launch_);
    const ThreadInstruction& code = code_.instructions[at];
    if (!calculator.moves_what_is_there(code)) part.state.forget(written_by(code_.program[at]));
    if (writes_stack(code)) part.state.stack.clear();
    if (code.op == Op::set_barrier) part.state.barriers[code.barrier] = kNone;
  }
  steps_ += detour.code.size();
  if (detour.meets == kNone) return Next::ended;
  part.state.at = detour.meets;
  return Next::on;
}

void FollowedLaunch::give_up_on(std::uint32_t at) {
  const ThreadInstruction& code = code_.instructions[at];
  uses_other_memory_ |= code.uses_memory;
  if (code.uses_memory) open_accesses_.insert(at);
  const auto may = code_.accesses.find(at);
  // A store without an origin goes through an address from memory.
  const bool from_memory = may == code_.accesses.end() || may->second.anywhere || may->second.words.empty();
  stores_anywhere_ |= code.op == Op::access && code.mode != Mode::read && from_memory;
  forget_bytes_of(at);
}

std::vector<OpenAccess> FollowedLaunch::open_accesses() const {
  std::vector<OpenAccess> out;
  for (const std::uint32_t at : open_accesses_) {
    const auto form = memory_form_of(code_.program[at]);
    const auto may = code_.accesses.find(at);
    OpenAccess& access = out.emplace_back();
    if (!form || (form->space != Space::global && form->space != Space::generic)) continue;
    access.kind = form->kind;
    access.bytes = memory_bytes_of(code_.program[at]);
    if (may != code_.accesses.end() && !may->second.anywhere && !may->second.handle)
      access.words.assign(may->second.words.begin(), may->second.words.end());
  }
  return out;
}

void FollowedLaunch::forget_bytes_of(std::uint32_t at) {
  const auto may = code_.accesses.find(at);
  if (may == code_.accesses.end()) return;
  none_known_ |= may->second.anywhere;
  not_known_.insert(may->second.words.begin(), may->second.words.end());
  if (may->second.handle) not_known_.insert(*may->second.handle);
}

FollowedLaunch::Next FollowedLaunch::access(Part& part, const ThreadInstruction& code, Calculator& calculator) {
  if (code.tile && !code.coordinates.empty()) return tile_access(part, code, calculator);
  if (!code.coordinates.empty()) return image_access(part, code, calculator);
  const std::uint32_t at = part.state.at;
  const auto address = calculator.address(code);
  if (calculator.needed_cut()) return part_where(part, *calculator.needed_cut());
  const bool known = address && code.width != 0 && range_of(address->form, part.box);
  const auto values = known ? loaded(at, *address, part.box) : Loaded();
  if (values.cut) return part_where(part, *values.cut);
  if (known) note_certain(at, *address, part.box);
  if (known && address->word) {
    add_access(*address->word, code, address->form, part.box);
  } else {
    known ? forget_bytes_of(at) : give_up_on(at);
  }
  // An address that is based on a word, or on none but known, is global.
  if (!known && writes_stack(code)) part.state.stack.clear();
  part.state.forget(written_by(code_.program[at]));
  for (std::size_t i = 0; i < values.registers.size() && code.to + i < kUniform; ++i) {
    part.state.registers[code.to + i] = values.registers[i];
  }
  ++part.state.at;
  return Next::on;
}

// Follows the thread's own stack, if the address is the same for all threads of the part.
FollowedLaunch::Next FollowedLaunch::local_access(Part& part, const ThreadInstruction& code, Calculator& calculator) {
  const std::uint32_t at = part.state.at;
  const auto address = calculator.address(code);
  if (calculator.needed_cut()) return part_where(part, *calculator.needed_cut());
  const bool known = address && !address->word && address->form.is_constant() && code.width >= 4;
  const auto first = known ? static_cast<std::uint32_t>(address->form.base) : 0;
  auto& stack = part.state.stack;
  std::vector<Value> loaded;
  for (std::uint32_t i = 0; known && i < code.width / 4; ++i) {
    if (code.mode == Mode::read) {
      const auto word = stack.find(first + 4 * i);
      loaded.push_back(word == stack.end() ? Value() : word->second);
    } else {
      stack[first + 4 * i] = calculator.read(code.values.front(), i);
    }
  }
  if (!known && code.mode != Mode::read) stack.clear();
  uses_other_memory_ |= !known;
  if (!known) open_accesses_.insert(at);
  part.state.forget(written_by(code_.program[at]));
  for (std::size_t i = 0; i < loaded.size() && code.to + i < kUniform; ++i)
    part.state.registers[code.to + i] = loaded[i];
  ++part.state.at;
  return Next::on;
}

std::optional<FollowedLaunch::Span> FollowedLaunch::span_of(const Calculator::Address& address, std::uint32_t width,
                                                            const Box& box) const {
  const auto range = range_of(address.form, box);
  const auto base = address.word ? launch_.word(*address.word) : std::optional(std::uint64_t{0});
  if (!range || !base) return std::nullopt;
  return Span{*base + static_cast<std::uint64_t>(range->least),
              *base + static_cast<std::uint64_t>(range->most) + width};
}

// Also notes which known memory is loaded, and which memory is stored to.
FollowedLaunch::Loaded FollowedLaunch::loaded(std::uint32_t at, const Calculator::Address& address, const Box& box) {
  constexpr std::uint64_t kMostPlaces = 512;  // a box is cut into at most this many parts
  const ThreadInstruction& code = code_.instructions[at];
  const Instruction& i = code_.program[at];
  Loaded out;
  if (launch_.memory.empty()) return out;
  const auto span = span_of(address, code.width, box);
  if (code.mode != Mode::read) {
    span ? stored_.push_back(*span) : void(stores_anywhere_ = true);
    return out;
  }
  if (!span) return out;
  const auto memory = std::find_if(launch_.memory.begin(), launch_.memory.end(), [&](const KnownMemory& each) {
    return span->begin >= each.address && span->end <= each.address + each.bytes.size();
  });
  const bool plain = is_any(i.base(), {"LDG", "LD"}) && code.to != kNone;
  if (memory == launch_.memory.end() || !plain) return out;
  if (const Form& form = address.form; !form.is_constant()) {
    std::int64_t step = 0;
    for (const std::int64_t each : form.steps) step = std::gcd(step, each);
    const std::uint64_t extent = span->end - span->begin - code.width;
    if (extent / static_cast<std::uint64_t>(step) >= kMostPlaces) return out;
    const auto range = range_of(form, box);
    out.cut = Cut{form, range->least + (range->most - range->least + 1) / 2};
    return out;
  }
  const std::size_t offset = span->begin - memory->address;
  if (offset % code.width != 0) return out;
  loaded_.push_back(*span);
  const auto which = static_cast<std::size_t>(memory - launch_.memory.begin());
  if (code.width < 4) {
    const bool with_sign = i.has("S8") || i.has("S16");
    std::uint32_t value = 0;
    std::memcpy(&value, memory->bytes.data() + offset, code.width);
    const std::uint32_t sign = 1u << (8 * code.width - 1);
    if (with_sign && (value & sign) != 0) value |= ~(2 * sign - 1);
    out.registers = {number_of(value)};
    return out;
  }
  for (std::size_t half = offset; half < offset + code.width; half += 4) {
    const std::uint32_t word = word_in(which, half);
    // Halves of addresses that are loaded apart are numbers.
    if (code.width >= 8 && std::binary_search(launch_.addresses.begin(), launch_.addresses.end(), word)) {
      out.registers.push_back({half % 8 == 0 ? Value::Kind::low : Value::Kind::high, word, {}});
      continue;
    }
    std::uint32_t value = 0;
    std::memcpy(&value, memory->bytes.data() + half, sizeof value);
    out.registers.push_back(number_of(value));
    if (code.width >= 8 && half % 8 == 0) loaded_numbers_.insert(word);
  }
  return out;
}

bool FollowedLaunch::changes_what_it_reads() const {
  if (loaded_.empty()) return false;
  return stores_anywhere_ || std::ranges::any_of(stored_, [&](const Span& stored) {
           return std::ranges::any_of(
               loaded_, [&](const Span& loaded) { return stored.begin < loaded.end && loaded.begin < stored.end; });
         });
}

// Elements outside the tensor are not read or written, so the bytes are known only if the whole box is inside.
FollowedLaunch::Next FollowedLaunch::tile_access(Part& part, const ThreadInstruction& code, Calculator& calculator) {
  const std::uint32_t at = part.state.at;
  uses_other_memory_ = true;
  open_accesses_.insert(at);
  const auto may = code_.accesses.find(at);
  const auto map = std::find_if(launch_.tensors.begin(), launch_.tensors.end(), [&](const TensorMap& each) {
    return may != code_.accesses.end() && !may->second.anywhere && may->second.words.size() == 1 &&
           may->second.words.contains(each.parameter);
  });
  const auto place = map == launch_.tensors.end() ? std::nullopt : place_of_tile(*map, code, part, calculator);
  if (calculator.needed_cut()) return part_where(part, *calculator.needed_cut());
  place ? add_tile(*map, code, *place, part.box) : give_up_on(at);
  part.state.forget(written_by(code_.program[at]));
  ++part.state.at;
  return Next::on;
}

std::optional<Form> FollowedLaunch::place_of_tile(const TensorMap& map, const ThreadInstruction& code, const Part& part,
                                                  Calculator& calculator) {
  if (code.coordinates.size() != map.dimensions.size()) return std::nullopt;
  Form all = constant(0);
  std::uint64_t rows = 1;
  for (const Coordinate& each : code.coordinates) {
    const TensorMap::Dimension& dimension = map.dimensions[each.axis];
    const auto form = calculator.form_of(each.source);
    const auto range = form ? range_of(*form, part.box) : std::nullopt;
    if (!range || range->least < 0 || range->most > kMostOfImage || dimension.step > kMostOfImage) return std::nullopt;
    if (static_cast<std::uint64_t>(range->most) + dimension.box > dimension.size) return std::nullopt;
    const auto moved = times(*form, static_cast<std::int64_t>(dimension.step));
    const auto sum_so_far = moved ? sum(all, *moved) : std::nullopt;
    if (!sum_so_far) return std::nullopt;
    all = *sum_so_far;
    if (each.axis > 0) rows *= dimension.box;
  }
  return rows <= kMostRowsOfTile ? std::optional(all) : std::nullopt;
}

void FollowedLaunch::add_tile(const TensorMap& map, const ThreadInstruction& code, const Form& place, const Box& box) {
  ThreadInstruction row = code;
  row.width = static_cast<std::uint32_t>(map.dimensions[0].box * map.dimensions[0].step);
  std::vector<std::uint64_t> at(map.dimensions.size());
  for (std::size_t axis = 1;;) {
    std::int64_t offset = 0;
    for (std::size_t each = 1; each < at.size(); ++each) {
      offset += static_cast<std::int64_t>(at[each] * map.dimensions[each].step);
    }
    if (const auto form = sum(place, constant(offset))) add_access(map.parameter, row, *form, box);
    for (axis = 1; axis < at.size() && ++at[axis] == map.dimensions[axis].box; ++axis) at[axis] = 0;
    if (axis >= at.size()) return;
  }
}

// Follows the access only if all coordinates are inside the image. Outside the image, the effect depends on the
// instruction and the texture.
FollowedLaunch::Next FollowedLaunch::image_access(Part& part, const ThreadInstruction& code, Calculator& calculator) {
  const std::uint32_t at = part.state.at;
  uses_other_memory_ = true;
  open_accesses_.insert(at);
  const auto may = code_.accesses.find(at);
  const auto image = std::find_if(launch_.images.begin(), launch_.images.end(), [&](const Image& each) {
    return may != code_.accesses.end() && each.parameter == may->second.handle;
  });
  const auto place = image == launch_.images.end() ? std::nullopt : place_in_image(*image, code, part, calculator);
  if (calculator.needed_cut()) return part_where(part, *calculator.needed_cut());
  if (place) {
    ThreadInstruction texel = code;
    if (texel.width == 0) texel.width = static_cast<std::uint32_t>(image->element);
    add_access(image->parameter, texel, *place, part.box);
  } else {
    give_up_on(at);
  }
  part.state.forget(written_by(code_.program[at]));
  ++part.state.at;
  return Next::on;
}

std::optional<Form> FollowedLaunch::place_in_image(const Image& image, const ThreadInstruction& code, const Part& part,
                                                   Calculator& calculator) const {
  const bool texels = code.width == 0;
  const std::uint64_t width = texels ? image.element : code.width;
  Form all = constant(0);
  for (const Coordinate& each : code.coordinates) {
    const bool x = each.axis == 0;
    const std::uint64_t step = x ? (texels ? image.element : 1) : each.axis == 1 ? image.pitch : image.slice;
    const std::uint64_t end = x ? image.width : each.axis == 1 ? image.rows : image.layers;
    const auto form = calculator.form_of(each.source);
    const auto range = form ? range_of(*form, part.box) : std::nullopt;
    if (!range || width == 0 || range->least < 0 || range->most > kMostOfImage || end > kMostOfImage) {
      return std::nullopt;
    }
    const std::uint64_t last = static_cast<std::uint64_t>(range->most) * (x ? step : 1) + (x ? width : 1);
    const auto moved = last <= end ? times(*form, static_cast<std::int64_t>(step)) : std::nullopt;
    const auto sum_so_far = moved ? sum(all, *moved) : std::nullopt;
    if (!sum_so_far) return std::nullopt;
    all = *sum_so_far;
  }
  return all;
}

void FollowedLaunch::add_access(std::uint32_t word, const ThreadInstruction& code, const Form& form, const Box& box) {
  const std::pair key(word, code.mode);
  if (too_many_.contains(key) || used_[key].add(form, code.width, box)) return;
  too_many_.insert(key);
  not_known_.insert(word);
}

// The lowest and the highest positions occur at corners of the box.
void FollowedLaunch::note_certain(std::uint32_t at, const Calculator::Address& address, const Box& box) {
  const auto range = range_of(address.form, box);
  const auto form = memory_form_of(code_.program[at]);
  if (!range || !form) return;
  const auto [known, fresh] = certain_.try_emplace({at, address.word});
  CertainAccess& access = known->second;
  if (fresh) {
    access = {code_.program[at].address,
              form->kind,
              form->space,
              code_.instructions[at].width,
              address.word,
              range->least,
              range->most,
              0};
  }
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    if (box.low[i] != box.high[i]) access.step = std::gcd(access.step, address.form.steps[i]);
  }
  access.step = std::gcd(access.step, range->least - access.least);
  access.least = std::min(access.least, range->least);
  access.most = std::max(access.most, range->most);
}

}  // namespace cudadiag::sass
