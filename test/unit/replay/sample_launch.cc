#include "unit/replay/sample_launch.h"

namespace cudadiag::test {

replay::SavedLaunch sample_launch() {
  using namespace replay;
  SavedLaunch launch;
  launch.kernel = "_Z5scalePff";
  launch.demangled = "scale(float*, float)";
  launch.image_form = ImageForm::fatbin;
  launch.image_bytes = 4096;
  launch.grid = {4, 2, 1};
  launch.block = {32, 1, 1};
  launch.cluster = {2, 1, 1};
  launch.shared_bytes = 1024;
  launch.device = 1;
  launch.cooperative = true;
  launch.attributes = {{4, {std::byte{2}, std::byte{0xff}}}};
  launch.function_values = {{8, 65536}, {9, -1}};
  launch.limits = {{0, 1024}};
  launch.parameters = {{0, {8, std::byte{0x7f}}}, {8, {4, std::byte{1}}}};
  launch.blocks = {
      {0x7f0000000000, 4096, MemoryKind::device, Reach::parameter, Unsaved::no, Contents{"memory-0", 0, 4096}},
      {0x7f0000200000, 1 << 20, MemoryKind::mapped, Reach::memory, Unsaved::limit, Contents{"memory-1", 512, 1024}},
      {0x7f0000400000, 512, MemoryKind::pinned, Reach::nothing},
      {0x7f0000600000, 8, MemoryKind::none, Reach::module, Unsaved::no, Contents{"memory-3", 0, 8}, "place"}};
  launch.missing = {{Missing::attribute, 7}, {Missing::globals, 0}};
  launch.gpu = {13000, 9, 0, "NVIDIA H200", "0000:04:00.0"};
  launch.failure = SavedFailure{700,
                                "CUDA_ERROR_ILLEGAL_ADDRESS",
                                {"/home/a/scale.cu", "main", 19},
                                Instruction{"_Z5scalePff", 0x90, {"/home/a/scale.cu", "scale", 7}}};
  launch.made_by = "cudadiag 1.0.0";
  launch.made_on = "0123456789abcdef";
  return launch;
}

}  // namespace cudadiag::test
