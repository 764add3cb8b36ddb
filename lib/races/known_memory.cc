#include "races/known_memory.h"

#include <algorithm>
#include <iterator>

#include "session/area_reader.h"
#include "wire/area.h"
#include "wire/race_record.h"
#include "wire/tables.h"

namespace cudadiag::races {

namespace area = wire::area;

KnownMemory::KnownMemory(std::span<const std::byte> bytes)
    : area_(bytes), contexts_(session::AreaRegions(bytes).region(area::Region::contexts)) {}

const Memory* KnownMemory::at(std::uint64_t address) const {
  const auto after = by_address_.upper_bound(address);
  if (after == by_address_.begin()) return nullptr;
  const Memory& memory = std::prev(after)->second;
  return address - memory.begin < memory.bytes ? &memory : nullptr;
}

const Memory* KnownMemory::that_begins_at(std::uint64_t address) const {
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? nullptr : &found->second;
}

void KnownMemory::made(Memory memory, std::uint32_t context) {
  auto at = by_address_.upper_bound(memory.begin);
  if (at != by_address_.begin()) {
    const Memory& before = std::prev(at)->second;
    if (before.begin + before.bytes > memory.begin) --at;
  }
  while (at != by_address_.end() && at->first < memory.begin + memory.bytes) at = by_address_.erase(at);
  memory.context = home_of(memory.kind, context);
  by_address_[memory.begin] = memory;
}

void KnownMemory::read_table() {
  namespace a = wire::allocation;
  const auto table = session::AreaRegions(area_).region(area::Region::allocations);
  const std::uint64_t used = std::min<std::uint64_t>(wire::load_acquire(area_.data(), area::kAllocationsUsed),
                                                     table.size() / area::kAllocationSize);
  by_address_.clear();
  for (std::uint64_t i = 0; i < used; ++i) {
    const auto copy = session::copy_serialised<area::kAllocationSize>(table.data() + i * area::kAllocationSize);
    if (!copy || wire::load(copy->data(), a::kFreed) != 0) continue;
    const std::uint64_t begin = wire::load(copy->data(), a::kAddress);
    const auto kind = static_cast<a::Kind>(wire::load(copy->data(), a::kKind));
    by_address_[begin] = {begin, wire::load(copy->data(), a::kBytes), wire::load(copy->data(), a::kSite), kind,
                          home_of(kind, wire::load(copy->data(), a::kContext))};
  }
}

std::uint32_t KnownMemory::context_uid(std::uint32_t index) const {
  if (index >= contexts_.size() / area::kContextSize) return 0;
  return wire::load(contexts_.data() + index * area::kContextSize, wire::context::kUid);
}

std::uint32_t KnownMemory::home_of(wire::allocation::Kind kind, std::uint32_t context) const {
  return wire::allocation::takes_device_memory(kind) ? context_uid(context) : 0;
}

namespace race = wire::race;

namespace {

constexpr std::uint64_t kMostArraysEver = (kArrays - 1) / kArrayRoom;

std::uint64_t low(std::uint64_t word) { return word & 0xffffffff; }
std::uint64_t high(std::uint64_t word) { return word >> 32; }

}  // namespace

std::optional<KnownImages::Array> KnownImages::array_made(const std::byte* record) {
  const std::uint64_t handle = wire::load(record, race::kWord0), shape = wire::load(record, race::kWord2);
  std::optional<Array> before;
  if (const auto known = arrays_.find(handle); known != arrays_.end()) {
    before = known->second;
    arrays_.erase(known);
  }
  Array made;
  made.row = wire::load(record, race::kWord1);
  made.rows = std::max<std::uint64_t>(low(shape), 1);
  made.layers = std::max<std::uint64_t>(high(shape), 1);
  made.element = wire::load(record, race::kWord3);
  const bool sane = made.row != 0 && made.row <= kArrayRoom / made.rows / made.layers;
  if (!sane || arrays_.size() >= kMostArrays || made_ >= kMostArraysEver) return before;
  made.begin = kArrays + kArrayRoom * made_++;
  arrays_[handle] = made;
  return before;
}

void KnownImages::image_made(const std::byte* record, std::uint32_t context) {
  const std::uint16_t flags = wire::load(record, race::kOffset0);
  const std::uint64_t resource = wire::load(record, race::kWord1);
  const Name name{wire::load(record, race::kWord0), context, (flags & race::kSurface) != 0};
  images_.erase(name);
  if (resource == 0 || images_.size() >= kMostImages) return;
  Image image;
  image.shape.element = wire::load(record, race::kOffset1);
  if ((flags & race::kOfArray) == 0) {
    image.begin = resource;
    image.shape.width = wire::load(record, race::kWord2);
    image.shape.rows = low(wire::load(record, race::kWord3));
    image.shape.pitch = high(wire::load(record, race::kWord3));
    const bool sane = image.shape.width != 0 && image.shape.width < kArrayRoom && image.shape.rows != 0;
    if (!sane || (image.shape.rows > 1 && image.shape.pitch < image.shape.width)) return;
  } else {
    const auto array = arrays_.find(resource);
    if (array == arrays_.end()) return;
    image.array = resource;
    image.begin = array->second.begin;
    image.shape.width = image.shape.pitch = array->second.row;
    image.shape.rows = array->second.rows;
    image.shape.layers = array->second.layers;
    image.shape.slice = array->second.row * array->second.rows;
    image.shape.element = array->second.element;
  }
  images_[name] = image;
}

const KnownImages::Image* KnownImages::find(const Name& name) const {
  const auto found = images_.find(name);
  if (found == images_.end()) return nullptr;
  const Image& image = found->second;
  if (image.array == 0) return &image;
  // The array may have been destroyed, and its handle may now belong to a new array.
  const auto array = arrays_.find(image.array);
  return array != arrays_.end() && array->second.begin == image.begin ? &image : nullptr;
}

KnownImages::Side KnownImages::side_of(const std::byte* record) {
  const std::uint64_t one = wire::load(record, race::kWord1), two = wire::load(record, race::kWord2),
                      three = wire::load(record, race::kWord3);
  const std::uint16_t flags = wire::load(record, race::kOffset0);
  return {wire::load(record, race::kWord0),
          low(one),
          high(one),
          low(two),
          low(three),
          high(three),
          high(two),
          (flags & race::kIsSource) != 0,
          (flags & race::kInElements) != 0};
}

void KnownImages::add_accesses(const Access& copy, const Side& side, std::vector<Access>& out) const {
  const auto known = arrays_.find(side.array);
  if (known == arrays_.end()) return;
  const Array& array = known->second;
  const std::uint64_t scale = side.in_elements ? array.element : 1;
  const std::uint64_t x = side.x * scale, width = side.width * scale;
  const std::uint64_t height = std::max<std::uint64_t>(side.height, 1), depth = std::max<std::uint64_t>(side.depth, 1);
  if (width == 0 || x + width > array.row || side.y + height > array.rows || side.z + depth > array.layers) return;
  Access access = copy;
  access.array = side.array;
  access.mode = side.is_source ? Mode::read : Mode::write;
  access.exact = true;
  access.begin = array.begin + (side.z * array.rows + side.y) * array.row + x;
  access.pitch = array.row;
  access.width = width;
  // If the copy uses every row of a layer, the rows of all layers follow each other without a gap.
  const bool whole_layers = height == array.rows;
  access.rows = static_cast<std::uint32_t>(whole_layers ? height * depth : height);
  if (width == array.row) access.width *= access.rows, access.rows = 1;
  if (access.rows == 1) access.pitch = 0;
  const std::uint64_t pieces = whole_layers ? 1 : std::min(depth, kMostPieces);
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    out.push_back(access);
    access.begin += array.row * array.rows;
  }
}

// Two records describe a tensor map. The key is a hash of the map's bytes, so a known map never changes its shape.
void KnownImages::tensor_map_made(const std::byte* record) {
  constexpr std::size_t kMostRank = 4;
  const std::uint64_t words[] = {wire::load(record, race::kWord1), wire::load(record, race::kWord2),
                                 wire::load(record, race::kWord3)};
  if (tensor_maps_.size() >= kMostImages) tensor_maps_.clear();
  sass::TensorMap& map = tensor_maps_[wire::load(record, race::kWord0)];
  map.dimensions.resize(kMostRank);
  if (wire::load(record, race::kOffset0) == race::kTensorStrides) {
    for (std::size_t axis = 1; axis < map.dimensions.size(); ++axis) map.dimensions[axis].step = words[axis - 1];
    std::erase_if(map.dimensions, [](const auto& dimension) { return dimension.size == 0; });
    return;
  }
  const std::uint64_t rank = std::min<std::uint64_t>(words[2] & 0xff, kMostRank);
  map.dimensions[0].step = words[2] >> 8 & 0xff;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::uint64_t pair = words[axis / 2];
    map.dimensions[axis].size = axis % 2 == 0 ? low(pair) : high(pair);
    map.dimensions[axis].box = (words[2] >> (16 + 8 * axis) & 0xff) + 1;
  }
}

const sass::TensorMap* KnownImages::tensor_map(std::uint64_t hash) const {
  const auto found = tensor_maps_.find(hash);
  return found == tensor_maps_.end() ? nullptr : &found->second;
}

void KnownImages::forget() {
  arrays_.clear();
  images_.clear();
}

}  // namespace cudadiag::races
