// Writes the records about arrays, textures and surfaces, and about copies to and from arrays.
#include "record/memory/race_records.h"
#include "wire/hash.h"

namespace cudadiag::record {

namespace operation = wire::operation;
namespace race = wire::race;
using operation::Kind;

namespace {

std::uint64_t number(CUarray array) { return reinterpret_cast<std::uint64_t>(array); }

// Returns the size of an element in bytes; 0 for formats whose elements share bytes.
std::uint64_t element_bytes(CUarray_format format, unsigned channels) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2u * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4u * channels;
    default:
      return 0;
  }
}

std::uint64_t pair(std::uint64_t low, std::uint64_t high) { return (low & 0xffffffff) | high << 32; }

}  // namespace

// ---- arrays, textures and surfaces

void RaceRecords::array_made(ThreadState& thread, const CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  // Arrays with one of these flags may share memory with other arrays, and their memory may be remapped.
  constexpr unsigned kUnsettled = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;
  const std::uint64_t element = element_bytes(shape.Format, shape.NumChannels);
  if (array == nullptr || element == 0 || (shape.Flags & kUnsettled) != 0) return;
  images_made_.store(true, std::memory_order_relaxed);
  std::byte* record = begin(thread, Kind::array_made, operation::kNoStream);
  wire::store(record, race::kWord0, number(*array));
  wire::store(record, race::kWord1, shape.Width * element);
  wire::store(record, race::kWord2, pair(shape.Height, shape.Depth));
  wire::store(record, race::kWord3, element);
  publish(thread, record);
}

void RaceRecords::image_made(ThreadState& thread, const Image& image, const CUDA_RESOURCE_DESC* resource) {
  if (resource == nullptr) return;
  std::uint64_t place = 0, row = 0, rows = 1, pitch = 0, element = 0;
  std::uint16_t flags = image.surface ? race::kSurface : 0;
  if (resource->resType == CU_RESOURCE_TYPE_ARRAY) {
    place = number(resource->res.array.hArray);
    flags |= race::kOfArray;
  } else if (resource->resType == CU_RESOURCE_TYPE_LINEAR) {
    const auto& linear = resource->res.linear;
    place = linear.devPtr;
    element = element_bytes(linear.format, linear.numChannels);
    row = linear.sizeInBytes;
  } else if (resource->resType == CU_RESOURCE_TYPE_PITCH2D) {
    const auto& flat = resource->res.pitch2D;
    place = flat.devPtr;
    element = element_bytes(flat.format, flat.numChannels);
    row = flat.width * element;
    rows = flat.height;
    pitch = flat.pitchInBytes;
  }
  images_made_.store(true, std::memory_order_relaxed);
  std::byte* record = begin(thread, Kind::image_made, operation::kNoStream);
  wire::store(record, race::kWord0, image.handle);
  wire::store(record, race::kWord1, place);
  wire::store(record, race::kWord2, row);
  wire::store(record, race::kWord3, flags & race::kOfArray ? 0 : pair(rows, pitch));
  wire::store(record, race::kOffset0, flags);
  wire::store(record, race::kOffset1, static_cast<std::uint16_t>(element));
  wire::store(record, race::kZeros, image.context);
  publish(thread, record);
}

void RaceRecords::image_returned(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data) {
  const void* p = data.functionParams;
  const auto image = [&](const unsigned long long* handle, bool surface) {
    return Image{handle == nullptr ? 0 : *handle, streams_->context_index(data.contextUid), surface};
  };
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuArrayCreate_v2: {
      const auto& made = *static_cast<const cuArrayCreate_v2_params*>(p);
      if (made.pAllocateArray == nullptr) return;
      const CUDA_ARRAY_DESCRIPTOR& shape = *made.pAllocateArray;
      return array_made(thread, made.pHandle, {shape.Width, shape.Height, 0, shape.Format, shape.NumChannels, 0});
    }
    case CUPTI_DRIVER_TRACE_CBID_cuArray3DCreate_v2: {
      const auto& made = *static_cast<const cuArray3DCreate_v2_params*>(p);
      if (made.pAllocateArray != nullptr) array_made(thread, made.pHandle, *made.pAllocateArray);
      return;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuTexObjectCreate: {
      const auto& made = *static_cast<const cuTexObjectCreate_params*>(p);
      return image_made(thread, image(made.pTexObject, false), made.pResDesc);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuSurfObjectCreate: {
      const auto& made = *static_cast<const cuSurfObjectCreate_params*>(p);
      return image_made(thread, image(made.pSurfObject, true), made.pResDesc);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeTiled:
      return tensor_map_made(thread, *static_cast<const cuTensorMapEncodeTiled_params*>(p));
    default:
      return;
  }
}

// Called at ENTER, because the handle may already be reused by the time the call returns.
void RaceRecords::image_gone(ThreadState& thread, std::uint32_t id, const void* parameters, std::uint32_t context_uid) {
  if (!images_made_.load(std::memory_order_relaxed)) return;
  const auto gone = [&](Kind kind, std::uint64_t handle, bool surface) {
    std::byte* record = begin_at_call(thread, kind);
    wire::store(record, race::kWord0, handle);
    wire::store(record, race::kOffset0, static_cast<std::uint16_t>(surface ? race::kSurface : 0));
    wire::store(record, race::kZeros, streams_->context_index(context_uid));
    publish(thread, record);
  };
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuArrayDestroy:
      return gone(Kind::array_made, number(static_cast<const cuArrayDestroy_params*>(parameters)->hArray), false);
    case CUPTI_DRIVER_TRACE_CBID_cuTexObjectDestroy:
      return gone(Kind::image_made, static_cast<const cuTexObjectDestroy_params*>(parameters)->texObject, false);
    case CUPTI_DRIVER_TRACE_CBID_cuSurfObjectDestroy:
      return gone(Kind::image_made, static_cast<const cuSurfObjectDestroy_params*>(parameters)->surfObject, true);
    default:
      return;
  }
}

// ---- tensor maps

namespace {

constexpr std::size_t kMostRank = 4;

// Returns the size of an element in bytes; 0 if several elements share a byte.
std::uint64_t element_bytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return 4;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    default:
      return 0;
  }
}

std::uint64_t hash_of(const void* map) { return wire::hash_bytes(static_cast<const char*>(map), sizeof(CUtensorMap)); }

}  // namespace

// Does not record tensor maps with gaps in their boxes, interleaved channels, or more than four dimensions.
void RaceRecords::tensor_map_made(ThreadState& thread, const cuTensorMapEncodeTiled_params& made) {
  const std::uint64_t rank = made.tensorRank, element = element_bytes(made.tensorDataType);
  const bool plain = element != 0 && rank >= 1 && rank <= kMostRank && made.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE;
  if (!plain || made.tensorMap == nullptr) return;
  std::uint64_t size[kMostRank] = {}, boxes = rank | element << 8;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    size[axis] = made.globalDim[axis];
    // The driver ignores the first stride.
    if ((axis > 0 && made.elementStrides[axis] != 1) || size[axis] > 0xffffffff || made.boxDim[axis] - 1 > 0xff) return;
    boxes |= std::uint64_t{made.boxDim[axis] - 1} << (16 + 8 * axis);
  }
  const std::uint64_t hash = hash_of(made.tensorMap);
  tensor_maps_[hash % kTensorMaps].store(hash, std::memory_order_relaxed);
  tensor_maps_made_.store(true, std::memory_order_relaxed);
  const auto record_part = [&](race::TensorMapPart part, std::uint64_t one, std::uint64_t two, std::uint64_t three) {
    std::byte* record = begin(thread, Kind::tensor_map_made, operation::kNoStream);
    wire::store(record, race::kWord0, hash);
    wire::store(record, race::kWord1, one);
    wire::store(record, race::kWord2, two);
    wire::store(record, race::kWord3, three);
    wire::store(record, race::kOffset0, std::uint16_t{part});
    publish(thread, record);
  };
  const auto stride = [&](std::size_t axis) { return axis < rank ? made.globalStrides[axis - 1] : 0; };
  record_part(race::kTensorShape, pair(size[0], size[1]), pair(size[2], size[3]), boxes);
  record_part(race::kTensorStrides, stride(1), stride(2), stride(3));
}

// Checks every aligned position, because a CUtensorMap may be part of a structure.
void RaceRecords::record_tensor_maps(ThreadState& thread, const Call& call) {
  words_.each(call.function, call.parameters, [&](const char* bytes, std::size_t size, std::size_t offset) {
    for (std::size_t at = 0; at + sizeof(CUtensorMap) <= size; at += alignof(CUtensorMap)) {
      const std::uint64_t hash = hash_of(bytes + at);
      if (tensor_maps_[hash % kTensorMaps].load(std::memory_order_relaxed) != hash) continue;
      std::byte* record = begin_at_call(thread, Kind::tensor_map);
      wire::store(record, race::kWord0, hash);
      wire::store(record, race::kOffset0, static_cast<std::uint16_t>(offset + at));
      publish(thread, record);
    }
  });
}

// ---- copies to and from arrays

void RaceRecords::array_side(ThreadState& thread, const Side& side) {
  if (side.array == nullptr) return;
  std::byte* record = begin_at_call(thread, Kind::array_side);
  wire::store(record, race::kWord0, number(side.array));
  wire::store(record, race::kWord1, pair(side.x, side.y));
  wire::store(record, race::kWord2, pair(side.z, side.depth));
  wire::store(record, race::kWord3, pair(side.width, side.height));
  wire::store(record, race::kOffset0, side.flags);
  publish(thread, record);
}

// Records each side of the copy that is an array. Reads only the members that `Parameters` has.
template <typename Parameters>
void RaceRecords::sides(ThreadState& thread, const void* parameters) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  if constexpr (requires { p.dstArray; }) {
    array_side(thread, {p.dstArray, p.dstOffset, 0, 0, p.ByteCount, 1, 1, 0});
  }
  if constexpr (requires { p.srcArray; }) {
    array_side(thread, {p.srcArray, p.srcOffset, 0, 0, p.ByteCount, 1, 1, race::kIsSource});
  }
  if constexpr (requires { p.pCopy->WidthInBytes; }) {
    if (p.pCopy == nullptr) return;
    const auto& copy = *p.pCopy;
    Side to{copy.dstArray, copy.dstXInBytes, copy.dstY, 0, copy.WidthInBytes, copy.Height, 1, 0};
    Side from{copy.srcArray, copy.srcXInBytes, copy.srcY, 0, copy.WidthInBytes, copy.Height, 1, race::kIsSource};
    if constexpr (requires { copy.Depth; }) {
      to.z = copy.dstZ, from.z = copy.srcZ;
      to.depth = from.depth = copy.Depth;
    }
    if (copy.dstMemoryType == CU_MEMORYTYPE_ARRAY) array_side(thread, to);
    if (copy.srcMemoryType == CU_MEMORYTYPE_ARRAY) array_side(thread, from);
  }
}

void RaceRecords::box_sides(ThreadState& thread, const CUDA_MEMCPY3D_BATCH_OP& box) {
  const auto side = [&](const CUmemcpy3DOperand& operand, std::uint16_t flags) {
    if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return;
    const auto& [array, offset] = operand.op.array;
    array_side(thread, {array, offset.x, offset.y, offset.z, box.extent.width, box.extent.height, box.extent.depth,
                        static_cast<std::uint16_t>(flags | race::kInElements)});
  };
  side(box.dst, 0);
  side(box.src, race::kIsSource);
}

void RaceRecords::before_arrays(ThreadState& thread, std::uint32_t id, const void* parameters) {
  if (!images_made_.load(std::memory_order_relaxed)) return;
#define SIDES(name, suffix)                    \
  case CUPTI_DRIVER_TRACE_CBID_##name:         \
  case CUPTI_DRIVER_TRACE_CBID_##name##suffix: \
    return sides<name##_params>(thread, parameters)
  switch (id) {
    SIDES(cuMemcpyDtoA_v2, _ptds);
    SIDES(cuMemcpyAtoD_v2, _ptds);
    SIDES(cuMemcpyHtoA_v2, _ptds);
    SIDES(cuMemcpyAtoH_v2, _ptds);
    SIDES(cuMemcpyAtoA_v2, _ptds);
    SIDES(cuMemcpyHtoAAsync_v2, _ptsz);
    SIDES(cuMemcpyAtoHAsync_v2, _ptsz);
    SIDES(cuMemcpy2D_v2, _ptds);
    SIDES(cuMemcpy2DUnaligned_v2, _ptds);
    SIDES(cuMemcpy2DAsync_v2, _ptsz);
    SIDES(cuMemcpy3D_v2, _ptds);
    SIDES(cuMemcpy3DAsync_v2, _ptsz);
    SIDES(cuMemcpy3DPeer, _ptds);
    SIDES(cuMemcpy3DPeerAsync, _ptsz);
    default:
      return;
  }
#undef SIDES
}

}  // namespace cudadiag::record
