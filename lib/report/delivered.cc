#include "report/delivered.h"

#include <filesystem>

namespace cudadiag::report {
namespace {

using session::by_id;
using session::Delivery;

// The place of the delivery is one of the finding's.
bool is_of_line(const Delivery& delivery, const Finding& finding) {
  const auto same = [&](const Location& location) {
    return location.line == delivery.line &&
           std::filesystem::path(location.file).filename() == std::filesystem::path(delivery.file).filename();
  };
  return same(finding.location) || (finding.caller && same(*finding.caller));
}

// The last one that the operation's thread made before it, if it belongs to the operation.
const Delivery* delivery_for(const Finding& finding, const analyse::Failure& failure) {
  const session::ProcessRecord& record = failure.again_process->record;
  const session::Operation& operation = *failure.again;
  if (operation.thread >= record.threads.size()) return nullptr;
  const session::Site* site = by_id(record.sites, operation.site);
  // A site without a native stack: the hook stood behind the operation.
  const bool of_operator = site != nullptr && site->native == 0;
  const std::uint32_t tid = record.threads[operation.thread].tid;
  const Delivery* last = nullptr;
  for (const Delivery& delivery : failure.again_process->deliveries) {
    if (delivery.tid != tid || delivery.ticks > operation.ticks) continue;
    if (delivery.kind == (of_operator ? "operator" : "line")) last = &delivery;
  }
  return last != nullptr && (of_operator || is_of_line(*last, finding)) ? last : nullptr;
}

Argument argument_of(const session::DeliveredValue& value) {
  Argument argument;
  argument.name = value.name;
  argument.origin = value.origin;
  argument.dtype = value.dtype;
  argument.device = value.device;
  argument.value = value.value;
  argument.shape = value.shape;
  argument.strides = value.strides;
  argument.min = value.min;
  argument.max = value.max;
  argument.nan = value.nan;
  argument.inf = value.inf;
  argument.bound = value.bound;
  argument.outside = value.outside;
  argument.first_outside = value.first_outside;
  argument.first_value = value.first_value;
  argument.pointer = value.pointer;
  return argument;
}

}  // namespace

void add_delivered(Finding& finding, const analyse::Failure& failure) {
  if (failure.again == nullptr || failure.again_process == nullptr) return;
  const Delivery* delivery = delivery_for(finding, failure);
  if (delivery == nullptr) return;
  for (const session::DeliveredValue& value : delivery->values) finding.arguments.push_back(argument_of(value));
}

}  // namespace cudadiag::report
