// Which bytes of a tensor or an image a followed launch uses: bulk copies of boxes, textures and surfaces.
#include <algorithm>

#include "sass/symbolic_execution.h"

namespace cudadiag::sass {
namespace {

constexpr std::uint64_t kMostRowsOfTile = 1024;
constexpr std::int64_t kMostOfImage = std::int64_t{1} << 40;  // limits both bytes and coordinates
// How a coordinate moves an access: by `step` bytes. The coordinate times `unit`, plus `last`, must not exceed `end`.
struct Axis {
  std::uint64_t step = 0, unit = 1, last = 1, end = 0;
};

// Returns the sum of what all coordinates add to the address. Returns nullopt unless they are inside for all threads.
std::optional<Form> place_at(Evaluator& evaluator, const std::vector<Coordinate>& coordinates, const Box& box,
                             const std::vector<Axis>& axes) {
  std::optional<Form> place = constant(0);
  if (coordinates.empty()) return std::nullopt;
  for (const Coordinate& each : coordinates) {
    const Axis& axis = axes[each.axis];
    const auto form = evaluator.form_of(each.value);
    const auto range = form ? range_of(*form, box) : std::nullopt;
    if (!range || range->least < 0 || range->most > kMostOfImage || axis.step > kMostOfImage) return std::nullopt;
    if (axis.last > axis.end) return std::nullopt;
    if (static_cast<std::uint64_t>(range->most) > (axis.end - axis.last) / axis.unit) return std::nullopt;
    const auto moved = times(*form, static_cast<std::int64_t>(axis.step));
    place = moved ? sum(*place, *moved) : std::nullopt;
    if (!place) return std::nullopt;
  }
  return place;
}

}  // namespace

// Elements outside the tensor are not read or written, so the bytes are known only if the whole box is inside.
FollowedLaunch::Next FollowedLaunch::box_access(Part& part, Evaluator& evaluator) {
  const std::uint32_t at = part.state.at;
  const Instruction& i = instruction(part);
  note_open(at);
  const MayAccess* may = may_access(at);
  const bool one_word = may != nullptr && !may->anywhere && may->words.size() == 1;
  const auto map = std::ranges::find_if(
      launch_.tensors, [&](const TensorMap& each) { return one_word && may->words.contains(each.parameter); });
  const auto coordinates = coordinates_of(i);
  std::optional<Form> place;
  std::uint64_t rows = 1;
  if (map != launch_.tensors.end() && coordinates.size() == map->dimensions.size()) {
    std::vector<Axis> axes;
    for (const auto& [size, step, box] : map->dimensions) axes.push_back({step, 1, box, size});
    for (std::size_t axis = 1; axis < axes.size(); ++axis) rows *= axes[axis].last;
    place = place_at(evaluator, coordinates, part.box, axes);
  }
  if (evaluator.needed_cut()) return part_where(part, *evaluator.needed_cut());
  place&& rows <= kMostRowsOfTile ? add_box(*map, i, *place, part.box) : give_up_on(at);
  return after(part);
}

void FollowedLaunch::add_box(const TensorMap& map, const Instruction& i, const Form& place, const Box& box) {
  const auto width = static_cast<std::uint32_t>(map.dimensions[0].box * map.dimensions[0].step);
  std::vector<std::uint64_t> at(map.dimensions.size());
  for (std::size_t axis = 1;;) {
    std::int64_t offset = 0;
    for (std::size_t each = 1; each < at.size(); ++each) {
      offset += static_cast<std::int64_t>(at[each] * map.dimensions[each].step);
    }
    if (const auto form = sum(place, constant(offset))) add_access(map.parameter, mode_of(i), width, *form, box);
    for (axis = 1; axis < at.size() && ++at[axis] == map.dimensions[axis].box; ++axis) at[axis] = 0;
    if (axis >= at.size()) return;
  }
}

// Follows the access only if all coordinates are inside the image. Outside the image, the effect depends on the
// instruction and the texture.
FollowedLaunch::Next FollowedLaunch::image_access(Part& part, Evaluator& evaluator) {
  const std::uint32_t at = part.state.at;
  const Instruction& i = instruction(part);
  note_open(at);
  const MayAccess* may = may_access(at);
  const auto image = std::ranges::find_if(
      launch_.images, [&](const Image& each) { return may != nullptr && each.parameter == may->handle; });
  std::optional<Form> place;
  std::uint64_t width = i.bytes;
  if (image != launch_.images.end()) {
    const bool texels = width == 0;
    if (texels) width = image->element;
    const std::uint64_t unit = texels ? width : 1;
    const std::vector<Axis> axes{
        {unit, unit, width, image->width}, {image->pitch, 1, 1, image->rows}, {image->slice, 1, 1, image->layers}};
    if (width != 0) place = place_at(evaluator, coordinates_of(i), part.box, axes);
  }
  if (evaluator.needed_cut()) return part_where(part, *evaluator.needed_cut());
  place ? add_access(image->parameter, mode_of(i), static_cast<std::uint32_t>(width), *place, part.box)
        : give_up_on(at);
  return after(part);
}

}  // namespace cudadiag::sass
