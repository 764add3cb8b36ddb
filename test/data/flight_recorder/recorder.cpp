// PyTorch's own Flight Recorder, called from Python: ProcessGroupNCCL itself needs GPUs. With PyTorch 2.11 in $TORCH:
//   g++ -std=c++20 -fPIC -shared -DFMT_HEADER_ONLY=1 -DTORCH_EXTENSION_NAME=recorder -DUSE_DISTRIBUTED \
//     -I$TORCH/include -I$TORCH/include/torch/csrc/api/include $(python3-config --includes) recorder.cpp \
//     -o recorder.so -L$TORCH/lib -ltorch_cpu -ltorch -lc10 -ltorch_python
//   for rank in 1 2 0; do python3 make_dumps.py $rank; done
#include <c10/core/Event.h>
#include <torch/extension.h>

#include <torch/csrc/distributed/c10d/FlightRecorderDetail.hpp>

using Recorder = c10d::FlightRecorder<c10::Event>;

template <>
float c10d::getDurationFromEvent<c10::Event>(c10::Event&, c10::Event&) {
  return 0;
}

namespace {

// A call whose end event was never recorded counts as completed.
void record(const std::pair<std::string, std::string>& group, std::array<int, 4> numbers, const std::string& title,
            const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs, bool is_completed) {
  auto* end = is_completed ? new c10::Event(c10::DeviceType::CPU) : nullptr;
  Recorder::get()->record(numbers[0], {group.first, group.second}, numbers[1], numbers[2], numbers[3], title, inputs,
                          outputs, nullptr, end, std::chrono::minutes(10), std::make_shared<c10d::ProcessGroupStatus>(),
                          numbers[2] != 0);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("record", &record);
  module.def("join", [](const std::string& name, const std::string& description, std::vector<std::uint64_t> ranks) {
    Recorder::get()->record_pg_ranks({name, description}, std::move(ranks));
  });
  module.def("dump", [] { return py::bytes(Recorder::get()->dump(std::nullopt, true, true, false)); });
  module.def("dump_json", [] { return py::bytes(Recorder::get()->dump_json(std::nullopt, true, false)); });
}
