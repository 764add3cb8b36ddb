// Arrays, textures, surfaces and tensor maps. An array's rows follow each other in device memory. Textures and surfaces
// are handles without an effect. A tensor map begins with an address, as in the real driver.
#include "api/api.h"

using sim::Gpu;
using sim::Memory;

namespace {

CUresult make(CUarray* place, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  constexpr std::size_t kMostOfElement = 16;
  if (place == nullptr || shape.Width == 0) return CUDA_ERROR_INVALID_VALUE;
  CUarray_st array;
  array.row = shape.Width * kMostOfElement;
  const std::size_t rows = std::max<std::size_t>(shape.Height, 1) * std::max<std::size_t>(shape.Depth, 1);
  const CUresult result =
      Gpu::instance().memory.allocate(sim::current_context()->uid, array.row * rows, Memory::Kind::device, array.begin);
  if (result == CUDA_SUCCESS) *place = new CUarray_st(array);
  return result;
}

// Textures and surfaces are numbered separately, from 1.
CUresult number(unsigned long long* place, const CUDA_RESOURCE_DESC* resource, unsigned long long& last) {
  if (place == nullptr || resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Gpu& gpu = Gpu::instance();
  Gpu::Lock lock(gpu.mutex);
  *place = ++last;
  return CUDA_SUCCESS;
}

unsigned long long textures = 0, surfaces = 0;

}  // namespace

SIM_API(cuTensorMapEncodeTiled, driver,
        (CUtensorMap * tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank, void* globalAddress,
         const cuuint64_t* globalDim, const cuuint64_t* globalStrides, const cuuint32_t* boxDim,
         const cuuint32_t* elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
         CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill),
        (tensorMap, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides, boxDim, elementStrides,
         interleave, swizzle, l2Promotion, oobFill)) {
  static_cast<void>(globalStrides), static_cast<void>(elementStrides), static_cast<void>(interleave);
  static_cast<void>(swizzle), static_cast<void>(l2Promotion), static_cast<void>(oobFill);
  cuuint64_t* words = tensorMap->opaque;
  *tensorMap = {};
  words[0] = reinterpret_cast<cuuint64_t>(globalAddress);
  words[1] = static_cast<cuuint64_t>(tensorDataType) | cuuint64_t{tensorRank} << 32;
  for (cuuint32_t axis = 0; axis < tensorRank; ++axis) {
    words[2 + 2 * axis] = globalDim[axis];
    words[3 + 2 * axis] = boxDim[axis];
  }
  return CUDA_SUCCESS;
}

SIM_API(cuArrayCreate_v2, quiet, (CUarray * pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray),
        (pHandle, pAllocateArray)) {
  const CUDA_ARRAY_DESCRIPTOR& shape = *pAllocateArray;
  return make(pHandle, {shape.Width, shape.Height, 0, shape.Format, shape.NumChannels, 0});
}

SIM_API(cuArray3DCreate_v2, quiet, (CUarray * pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray),
        (pHandle, pAllocateArray)) {
  return make(pHandle, *pAllocateArray);
}

SIM_API(cuArrayDestroy, quiet, (CUarray hArray), (hArray)) {
  const CUresult result = Gpu::instance().memory.release(hArray->begin, Memory::Kind::device);
  delete hArray;
  return result;
}

SIM_API(cuTexObjectCreate, context,
        (CUtexObject * pTexObject, const CUDA_RESOURCE_DESC* pResDesc, const CUDA_TEXTURE_DESC* pTexDesc,
         const CUDA_RESOURCE_VIEW_DESC* pResViewDesc),
        (pTexObject, pResDesc, pTexDesc, pResViewDesc)) {
  static_cast<void>(pTexDesc), static_cast<void>(pResViewDesc);
  return number(pTexObject, pResDesc, textures);
}

SIM_API(cuTexObjectDestroy, context, (CUtexObject texObject), (texObject)) {
  static_cast<void>(texObject);
  return CUDA_SUCCESS;
}

SIM_API(cuSurfObjectCreate, context, (CUsurfObject * pSurfObject, const CUDA_RESOURCE_DESC* pResDesc),
        (pSurfObject, pResDesc)) {
  return number(pSurfObject, pResDesc, surfaces);
}

SIM_API(cuSurfObjectDestroy, context, (CUsurfObject surfObject), (surfObject)) {
  static_cast<void>(surfObject);
  return CUDA_SUCCESS;
}
