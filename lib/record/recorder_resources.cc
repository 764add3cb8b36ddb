// Callbacks other than calls: contexts and streams that end, modules that are loaded and unloaded.
#include "record/recorder.h"

namespace cudadiag::record {

void Recorder::resource(ThreadState* thread, std::uint32_t id, const CUpti_ResourceData& data, std::uintptr_t frame) {
  // A program that cleans up after its failure takes nothing out of the picture.
  if (failures_.frozen()) return;
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      note_context_destroyed(thread, watch_.context_uid(data.context), frame);
      end_captures_in(streams_.context_index(watch_.context_uid(data.context)));
      streams_.context_destroyed(watch_.context_uid(data.context));
      newest_context_.store(0, std::memory_order_relaxed);
      break;
    case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING:
      streams_.stream_destroyed(data.resourceHandle.stream);
      end_captures_of(data.resourceHandle.stream);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      module_loaded(data);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      function_generation_.fetch_add(1, std::memory_order_relaxed);
      layouts_.module_unloaded();
      break;
    default:
      break;
  }
}

void Recorder::module_loaded(const CUpti_ResourceData& data) {
  const auto* module = static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
  if (module == nullptr || module->pCubin == nullptr) return;
  module_images_.save({reinterpret_cast<const std::byte*>(module->pCubin), module->cubinSize});
}

void Recorder::end_captures_of(CUstream stream) {
  if (captures_.ended(Captures::stream({stream, false}, 0, 0))) streams_.capture_ended();
}

void Recorder::end_captures_in(std::uint32_t context) {
  if (context == Streams::kNone) return;
  for (std::size_t ended = captures_.context_ended(context); ended > 0; --ended) streams_.capture_ended();
}

}  // namespace cudadiag::record
