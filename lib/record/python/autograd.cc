#include "record/python/autograd.h"

#include <bit>

#include "record/libc_substitutes.h"
#include "record/python/python_stack.h"
#include "record/stacks/symbols.h"
#include "wire/operation.h"

namespace cudadiag::record {

namespace {

namespace operation = wire::operation;

// Offsets in torch::autograd::Node (torch/csrc/autograd/function.h). The fields follow the vtable pointer and
// std::enable_shared_from_this, which points to the node and to its control block. These two pointers are checked, to
// verify the layout.
constexpr std::size_t kSelf = 8, kSelfCount = 16, kSequenceNumber = 24, kHasParent = 40, kThread = 48;
constexpr std::size_t kUseCount = 8;  // in the control block of libstdc++'s shared_ptr

template <typename Function>
bool resolve(const LoadedLibrary& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(library.function(name));
  return function != nullptr;
}

std::uint8_t thread_number(std::uint64_t number) {
  return number < operation::kManyThreads ? static_cast<std::uint8_t>(number) : operation::kManyThreads;
}

// Releases our reference to the running node. Never destroys the node, because PyTorch holds another reference in a
// thread-local variable. If our reference is the last one after all, the node leaks.
void release(std::byte* control_block) {
  auto* count = reinterpret_cast<int*>(control_block + kUseCount);
  if (__atomic_load_n(count, __ATOMIC_RELAXED) > 1) __atomic_fetch_sub(count, 1, __ATOMIC_ACQ_REL);
}

}  // namespace

AutogradState Autograd::current(ThreadState& thread) {
  AutogradState origin;
  origin.number = static_cast<std::uint32_t>(peek_());
  if (thread.torch_thread == 0) thread.torch_thread = thread_number(own_thread_());
  std::byte* node[2] = {};
  current_node_(node);
  if (node[0] == nullptr) return origin;
  describe_node(node[0], node[1], origin);
  if (node[1] != nullptr) release(node[1]);
  return origin;
}

void Autograd::look_again() {
  if (state_.load(std::memory_order_relaxed) != State::unknown) return;
  if (std::has_single_bit(occasions_.fetch_add(1, std::memory_order_relaxed) + 1)) look();
}

void Autograd::look() {
  State expected = State::unknown;
  if (!state_.compare_exchange_strong(expected, State::looking)) return;
  LoadedLibrary library;
  if (!library.find("libtorch_cpu.so")) {
    state_.store(State::unknown, std::memory_order_release);
    return;
  }
  if (!resolve(library, "_ZN2at15sequence_number4peekEv", peek_) ||
      !resolve(library, "_ZN2at14RecordFunction15currentThreadIdEv", own_thread_) ||
      !resolve(library, "_ZN5torch8autograd16get_current_nodeEv", current_node_)) {
    give_up("the forward-pass lines of backward kernels are unknown: this PyTorch version does not export its nodes");
    return;
  }
  resolve(library, "_ZN5torch8autograd25get_current_graph_task_idEv", graph_task_);
  state_.store(State::ready, std::memory_order_release);
}

void Autograd::describe_node(const std::byte* node, const std::byte* control_block, AutogradState& origin) {
  const auto thread = read_field<std::uint64_t>(node, kThread);
  if (read_field<const std::byte*>(node, kSelf) != node ||
      read_field<const std::byte*>(node, kSelfCount) != control_block ||
      read_field<unsigned char>(node, kHasParent) > 1 || thread == 0 || thread >> 32 != 0) {
    give_up("the forward-pass lines of backward kernels are unknown: this PyTorch version has a different node layout");
    return;
  }
  const auto number = read_field<std::uint64_t>(node, kSequenceNumber);
  origin.node = static_cast<std::uint32_t>(number);
  origin.node_thread = thread_number(thread);
  if (graph_task_ != nullptr) origin.graph_task = static_cast<std::uint16_t>(graph_task_() + 1);
  origin.node_type = type_of(node);
}

std::uint16_t Autograd::type_of(const std::byte* node) {
  const auto* table = read_field<const std::byte*>(node, 0);
  const auto key = reinterpret_cast<std::uint64_t>(table);
  std::uint32_t id = types_.find(key);
  if (id == 0) {
    // A vtable has a pointer to the class's std::type_info in front of its functions. The std::type_info contains the
    // class's name. '*' marks a name that is local to its library.
    const auto* type = read_field<const std::byte*>(table, -8);
    if (type == nullptr) return 0;
    const char* name = read_field<const char*>(type, 8);
    id = interner_->node_type(*name == '*' ? name + 1 : name);
    const LockGuard lock(mutex_);
    if (id != 0 && types_.find(key) == 0) types_.insert(key, id);
  }
  return id <= 0xffff ? static_cast<std::uint16_t>(id) : std::uint16_t{0};
}

void Autograd::give_up(const char* why) {
  if (state_.exchange(State::off, std::memory_order_acq_rel) != State::off) interner_->note("forward-lines-off", why);
}

}  // namespace cudadiag::record
