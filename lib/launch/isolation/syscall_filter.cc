// The seccomp filter of an isolated rerun: the system calls that it allows, and those that it passes to the supervisor.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "launch/isolation/syscall_rules.h"
#include "launch/process_tree.h"

namespace cudadiag::launch {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif
// The numbers of x32 system calls start here. The filter rejects all of these calls, because no rule covers them.
constexpr std::uint32_t kOtherNumbers = 0x40000000;

// A seccomp filter program.
class FilterText {
 public:
  FilterText() {
    load(offsetof(seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
    answer(SECCOMP_RET_ERRNO | ENOSYS);
    load(offsetof(seccomp_data, nr));
    add(BPF_JMP | BPF_JGE | BPF_K, kOtherNumbers, 0, 1);
    answer(SECCOMP_RET_ERRNO | ENOSYS);
    std::set<long> allowed(unchecked_calls().begin(), unchecked_calls().end());
    pretend_core_limit();
    add_allowed(allowed);
    std::set<long> conditional;
    for (const SyscallRule& rule : call_rules()) {
      add_rule(rule);
      if (rule.when != SyscallRule::When::always) conditional.insert(rule.number);
    }
    add_allowed(conditional);
    add(BPF_JMP | BPF_JGT | BPF_K, kNewestCall, 0, 1);
    answer(SECCOMP_RET_ERRNO | ENOSYS);
    answer(SECCOMP_RET_USER_NOTIF);
  }

  std::vector<sock_filter> text() && { return std::move(text_); }

 private:
  // At the start and end of each rule, the accumulator holds the system call number.
  void add_rule(const SyscallRule& rule) {
    const auto number = static_cast<std::uint32_t>(rule.number);
    if (rule.when == SyscallRule::When::always) {
      add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
      return answer(SECCOMP_RET_USER_NOTIF);
    }
    const auto low = static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                                static_cast<std::size_t>(rule.tested) * sizeof(std::uint64_t));
    if (rule.when == SyscallRule::When::unlisted) return add_unlisted(number, low);
    if (rule.when == SyscallRule::When::nonzero) {
      add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 6);
      load(low);
      add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2);
      load(low + 4);
      add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
      answer(SECCOMP_RET_USER_NOTIF);
    } else {
      add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
      load(low);
      const bool bits = rule.when == SyscallRule::When::any_bit;
      add(static_cast<std::uint16_t>(BPF_JMP | BPF_K | (bits ? BPF_JSET : BPF_JEQ)), rule.bits, 0, 1);
      answer(SECCOMP_RET_USER_NOTIF);
    }
    load(offsetof(seccomp_data, nr));
  }

  // Answers setrlimit(RLIMIT_CORE) and prlimit64(pid, RLIMIT_CORE, limits, NULL) with 0, without executing them. The
  // rerun may leave no core file, but a script that ends at a failed `ulimit -c unlimited` must run as it did the first
  // time.
  void pretend_core_limit() {
    constexpr auto argument = [](unsigned index) {
      return offsetof(seccomp_data, args) + index * sizeof(std::uint64_t);
    };
    add(BPF_JMP | BPF_JEQ | BPF_K, SYS_setrlimit, 0, 4);
    load(argument(0));
    add(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 0, 1);
    answer(SECCOMP_RET_ERRNO | 0);
    load(offsetof(seccomp_data, nr));
    add(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 10);
    load(argument(1));
    add(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 0, 7);
    load(argument(2));
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, 0);
    load(argument(3));
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
    load(argument(3) + sizeof(std::uint32_t));
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
    answer(SECCOMP_RET_ERRNO | 0);
    load(offsetof(seccomp_data, nr));
  }

  // Allows these calls, by ranges of their numbers.
  void add_allowed(const std::set<long>& numbers) {
    for (auto first = numbers.begin(); first != numbers.end();) {
      auto last = first;
      while (std::next(last) != numbers.end() && *std::next(last) == *last + 1) ++last;
      add(BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint32_t>(*first), 0, 2);
      add(BPF_JMP | BPF_JGT | BPF_K, static_cast<std::uint32_t>(*last), 1, 0);
      answer(SECCOMP_RET_ALLOW);
      first = std::next(last);
    }
  }

  // Allows the listed requests. The jump to the next rule is filled in last, when its length is known.
  void add_unlisted(std::uint32_t number, std::uint32_t argument) {
    const std::size_t jump = text_.size();
    add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 0);
    for (const HarmlessRequest& each : harmless_requests()) {
      load(argument);
      add(BPF_ALU | BPF_AND | BPF_K, each.mask, 0, 0);
      add(BPF_JMP | BPF_JEQ | BPF_K, each.value, 0, 1);
      answer(SECCOMP_RET_ALLOW);
    }
    answer(SECCOMP_RET_USER_NOTIF);
    text_[jump].jf = static_cast<std::uint8_t>(text_.size() - jump - 1);
  }

  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset), 0, 0); }
  void answer(std::uint32_t verdict) { add(BPF_RET | BPF_K, verdict, 0, 0); }
  void add(std::uint16_t code, std::uint32_t value, std::uint8_t if_true, std::uint8_t if_false) {
    text_.push_back({code, if_true, if_false, value});
  }

  std::vector<sock_filter> text_;
};

}  // namespace

std::vector<sock_filter> filter_program() { return FilterText().text(); }

int install_filter(const std::vector<sock_filter>& text) {
  const sock_fprog program{static_cast<unsigned short>(text.size()), const_cast<sock_filter*>(text.data())};
  return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

bool can_filter() {
  static const bool can = [] {
    const std::vector<sock_filter> program = filter_program();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && install_filter(program) >= 0 ? 0 : 1);
    return succeeds(child);
  }();
  return can;
}

}  // namespace cudadiag::launch
