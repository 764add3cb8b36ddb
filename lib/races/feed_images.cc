// Finds the bytes of textures, surfaces and arrays that kernels and copies use.
#include <cstring>

#include "races/feed.h"
#include "wire/operation.h"
#include "wire/race_record.h"

namespace cudadiag::races {

namespace operation = wire::operation;
namespace race = wire::race;
using operation::Kind;

namespace {

constexpr std::size_t kMostTensorMaps = 32;  // limit for one launch

}  // namespace

void Feed::note_image(const std::byte* record) {
  if (static_cast<Kind>(wire::load(record, operation::kKind)) == Kind::image_made) {
    return images_.image_made(record, memory_.context_uid(wire::load(record, race::kZeros)));
  }
  if (const auto before = images_.array_made(record)) history_.forget(before->begin, before->bytes());
}

std::vector<Feed::UsedImage> Feed::used_images(const Issued& issued, std::uint32_t function) {
  std::vector<UsedImage> out;
  for (const sass::HandleUse& use : launch_bytes_.handles(function)) {
    std::uint64_t handle = 0;
    if (issued.parameters.size() < use.parameter + sizeof handle) continue;
    std::memcpy(&handle, issued.parameters.data() + use.parameter, sizeof handle);
    const KnownImages::Image* image = images_.find({handle, order_.traits(issued.stream).context, use.surface});
    if (image == nullptr || (image->array == 0 && memory_.at(image->begin) == nullptr)) continue;
    out.push_back({use, *image});
    out.back().image.shape.parameter = use.parameter;
  }
  return out;
}

void Feed::add_image(Access access, const UsedImage& used, const std::vector<sass::ParameterBytes>& bytes) {
  const sass::Image& shape = used.image.shape;
  access.parameter = used.use.parameter;
  access.begin = used.image.begin;
  access.array = used.image.array;
  access.may_end = false;
  access.mode = used.use.mode;
  bool known = false;
  for (const sass::ParameterBytes& each : bytes) {
    const bool this_use = each.parameter == access.parameter && (each.mode == access.mode || each.mode == Mode::none);
    if (!this_use) continue;
    known |= each.all;
    add_rows(access, each);
  }
  if (known) return;
  access.somewhere = true;
  access.width = shape.width;
  access.pitch = shape.pitch;
  access.rows = static_cast<std::uint32_t>(shape.rows * shape.layers);
  if (access.pitch == access.width || access.rows == 1) {
    access.width *= access.rows;
    access.rows = 1;
    access.pitch = 0;
  }
  add(access);
}

void Feed::note_tensor_maps(const std::byte* record, Pending& pending) {
  if (pending.tensor_maps.size() >= kMostTensorMaps) return;
  pending.tensor_maps.push_back({wire::load(record, race::kOffset0), wire::load(record, race::kWord0)});
}

// Returns the known tensor maps among the launch's parameters. A map is known if the program encoded it, and has not
// changed it since.
std::vector<sass::TensorMap> Feed::tensors_of(const Pending& pending) const {
  std::vector<sass::TensorMap> out;
  for (const auto& [offset, hash] : pending.tensor_maps) {
    const sass::TensorMap* known = images_.tensor_map(hash);
    if (known == nullptr) continue;
    out.push_back(*known);
    out.back().parameter = offset;
  }
  return out;
}

// Adds an access for each side of a copy that is in a CUDA array.
void Feed::place_in_arrays(const Access& copy, const Part& part) {
  std::vector<Access> accesses;
  for (const KnownImages::Side& side : part.sides) {
    Access access = copy;
    if (side.is_source) access.when = part.when;
    images_.add_accesses(access, side, accesses);
  }
  for (const Access& access : accesses) add(access);
}

}  // namespace cudadiag::races
