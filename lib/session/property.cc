#include "session/property.h"

#include "base/text.h"
#include "wire/names/core_dump.h"

namespace cudadiag::session {
namespace {

constexpr base::Words<Property, 20> kKeys = {{
    {Property::argv, "argv"},
    {Property::core_dump, wire::core_dump::kProperty},
    {Property::cuda, "cuda"},
    {Property::cupti, "cupti"},
    {Property::cupti_path, "cupti.path"},
    {Property::cwd, "cwd"},
    {Property::exe, "exe"},
    {Property::flight_recorder, "flight_recorder"},
    {Property::forked_at, "forked_at"},
    {Property::forked_from, "forked_from"},
    {Property::host, "host"},
    {Property::late_launch_blocking, "late.CUDA_LAUNCH_BLOCKING"},
    {Property::launch_blocking, "env.CUDA_LAUNCH_BLOCKING"},
    {Property::left_at_work, "left_at_work"},
    {Property::mps, "mps"},
    {Property::python, "python"},
    {Property::python_hook, "python.hook"},
    {Property::rank, "rank"},
    {Property::visible_devices, "env.CUDA_VISIBLE_DEVICES"},
    {Property::watched_by, "watched_by"},
}};

const std::string& value_at(const ProcessRecord& record, const std::string& key) {
  static const std::string kNone;
  const auto found = record.properties.find(key);
  return found == record.properties.end() ? kNone : found->second;
}

std::string key_of(Property property) { return std::string(base::word_of(kKeys, property)); }

}  // namespace

bool has(const ProcessRecord& record, Property property) { return record.properties.contains(key_of(property)); }

const std::string& value_of(const ProcessRecord& record, Property property) {
  return value_at(record, key_of(property));
}

bool awaited_core_dump(const ProcessRecord& record) {
  return value_of(record, Property::core_dump) == wire::core_dump::kArmed;
}

bool left_core_dump(const ProcessRecord& record) {
  return value_of(record, Property::core_dump) == wire::core_dump::kWritten;
}

bool left_requested_dump(const ProcessRecord& record) {
  return value_of(record, Property::core_dump) == wire::core_dump::kRequested;
}

const std::string& pci_bus_id(const ProcessRecord& record, std::size_t device) {
  return value_at(record, "device." + std::to_string(device) + ".pci");
}

const std::string& device_name(const ProcessRecord& record, std::size_t device) {
  return value_at(record, "device." + std::to_string(device) + ".name");
}

}  // namespace cudadiag::session
