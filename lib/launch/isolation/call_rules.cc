#include "launch/isolation/call_rules.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <iterator>

namespace cudadiag::launch {
namespace {

using Kind = CallRule::Kind;
using When = CallRule::When;
using session::Deed;

// Defined here, because the build machine's kernel headers may lack them. The numbers are the same on all
// architectures.
constexpr long kFchmodat2 = 452, kSetxattrat = 463, kRemovexattrat = 466, kOpenTreeAttr = 467, kFileSetattr = 469;
constexpr long kMountSetattr = 442, kQuotactlFd = 443;
constexpr long kPidfdGetfd = 438, kProcessMadvise = 440;

// Opening for reading is not checked, not even in /proc: a program opens thousands of files when it starts, and a check
// takes ten microseconds or more.
constexpr std::uint32_t kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

constexpr CallRule on_path(long number, Kind kind, Deed deed, int folder, int path, bool follows = true) {
  CallRule rule;
  rule.number = number;
  rule.kind = kind;
  rule.deed = deed;
  rule.folder = static_cast<std::int8_t>(folder);
  rule.path = static_cast<std::int8_t>(path);
  rule.follows = follows;
  return rule;
}

// `flags` is the index of the argument that may contain a no-follow flag.
constexpr CallRule with_flags(CallRule rule, int flags) {
  rule.flags = static_cast<std::int8_t>(flags);
  return rule;
}

constexpr CallRule opening(long number, int folder, int path, int flags) {
  CallRule rule = with_flags(on_path(number, Kind::open, Deed::write, folder, path), flags);
  rule.when = When::any_bit;
  rule.tested = static_cast<std::int8_t>(flags);
  rule.bits = kWrites;
  return rule;
}

constexpr CallRule on_descriptor(long number) {
  CallRule rule;
  rule.number = number;
  rule.kind = Kind::descriptor;
  rule.deed = Deed::change;
  return rule;
}

constexpr CallRule control() {
  CallRule rule = on_descriptor(SYS_ioctl);
  rule.kind = Kind::control;
  rule.when = When::unlisted;
  rule.tested = 1;
  return rule;
}

constexpr CallRule network(long number, Kind kind, Deed deed, int address = 1) {
  CallRule rule;
  rule.number = number;
  rule.kind = kind;
  rule.deed = deed;
  rule.path = static_cast<std::int8_t>(address);
  return rule;
}

constexpr CallRule sending(long number, int address) {
  CallRule rule = network(number, Kind::datagram, Deed::send, address);
  rule.when = When::nonzero;
  rule.tested = rule.path;
  return rule;
}

constexpr CallRule on_process(long number, Kind kind, Deed deed, int process) {
  CallRule rule;
  rule.number = number;
  rule.kind = kind;
  rule.deed = deed;
  rule.path = static_cast<std::int8_t>(process);
  return rule;
}

constexpr CallRule unless_zero(CallRule rule, int tested) {
  rule.when = When::nonzero;
  rule.tested = static_cast<std::int8_t>(tested);
  return rule;
}

constexpr CallRule tracing(std::uint32_t request) {
  CallRule rule = on_process(SYS_ptrace, Kind::process, Deed::trace, 1);
  rule.when = When::equal;
  rule.tested = 0;
  rule.bits = request;
  return rule;
}

constexpr CallRule refused(long number, Deed deed, const char* what, int error = EPERM) {
  CallRule rule;
  rule.number = number;
  rule.deed = deed;
  rule.what = what;
  rule.error = error;
  return rule;
}

// Matches exactly one request.
constexpr HarmlessRequest only(std::uint32_t request) { return {~0u, request}; }

// Requests that write to the caller's memory or change only the caller's descriptor. The GPU's requests come first,
// because programs issue them often, and asking the supervisor takes ten microseconds or more. Drivers choose their own
// numbers, so a request is harmless only if no terminal, file system, disk or other common driver uses its number.
constexpr HarmlessRequest kHarmless[] = {
    // NVIDIA's requests have type 'F' and both directions. Framebuffers use this type without a direction.
    {0xc000ff00, 0xc0004600},
    // Requests of NVIDIA's unified memory driver are plain numbers. The supervisor checks those below 32, which programs
    // issue when they start, because SCSI disks use the same numbers.
    {0xffffffe0, 0x20},
    {0xffffffc0, 0x40},
    // Requests of the GPU in WSL have type 'G' and both directions.
    {0xc000ff00, 0xc0004700},
    only(TCGETS),
    only(0x802c542a),  // TCGETS2
    only(TIOCGWINSZ),
    only(TIOCGPGRP),
    only(TIOCGSID),
    only(TIOCOUTQ),
    only(FIONREAD),
    only(FIONBIO),
    only(FIOASYNC),
    only(FIOCLEX),
    only(FIONCLEX),
    only(FIOQSIZE),
    only(FIGETBSZ),
    only(FS_IOC_GETFLAGS),
    only(FS_IOC_FSGETXATTR),
    only(FS_IOC_GETVERSION),
    only(FS_IOC_FIEMAP),
    // These copy into a file that the caller must have opened for writing.
    only(FICLONE),
    only(FICLONERANGE),
};
static_assert(std::size(kHarmless) < 60, "a jump in the filter is at most 255 instructions long");

constexpr CallRule kRules[] = {
    // First, because programs that use a GPU issue it most often.
    control(),
    // Calls on files, the most frequent first.
    opening(SYS_openat, 0, 1, 2),
    with_flags(on_path(SYS_openat2, Kind::open_how, Deed::write, 0, 1), 2),
    on_path(SYS_mkdirat, Kind::make, Deed::make, 0, 1, false),
    on_path(SYS_mknodat, Kind::make, Deed::make, 0, 1, false),
    on_path(SYS_symlinkat, Kind::make, Deed::make, 1, 2, false),
    on_path(SYS_unlinkat, Kind::remove, Deed::remove, 0, 1, false),
    on_path(SYS_renameat2, Kind::move, Deed::rename, 0, 1, false),
    on_path(SYS_linkat, Kind::link, Deed::link, 0, 1, false),
    on_path(SYS_truncate, Kind::change, Deed::write, -1, 0),
    on_path(SYS_fchmodat, Kind::change, Deed::change, 0, 1),
    with_flags(on_path(kFchmodat2, Kind::change, Deed::change, 0, 1), 3),
    with_flags(on_path(SYS_fchownat, Kind::change, Deed::change, 0, 1), 4),
    with_flags(on_path(SYS_utimensat, Kind::change, Deed::change, 0, 1), 3),
    on_path(SYS_setxattr, Kind::change, Deed::change, -1, 0),
    on_path(SYS_lsetxattr, Kind::change, Deed::change, -1, 0, false),
    on_path(SYS_removexattr, Kind::change, Deed::change, -1, 0),
    on_path(SYS_lremovexattr, Kind::change, Deed::change, -1, 0, false),
    on_path(kSetxattrat, Kind::change, Deed::change, 0, 1),
    on_path(kRemovexattrat, Kind::change, Deed::change, 0, 1),
    refused(kFileSetattr, Deed::change, "flags of a file", EOPNOTSUPP),
#ifdef SYS_open
    opening(SYS_open, -1, 0, 1),
    on_path(SYS_creat, Kind::open, Deed::write, -1, 0),
    on_path(SYS_mkdir, Kind::make, Deed::make, -1, 0, false),
    on_path(SYS_mknod, Kind::make, Deed::make, -1, 0, false),
    on_path(SYS_symlink, Kind::make, Deed::make, -1, 1, false),
    on_path(SYS_unlink, Kind::remove, Deed::remove, -1, 0, false),
    on_path(SYS_rmdir, Kind::remove, Deed::remove, -1, 0, false),
    on_path(SYS_rename, Kind::move, Deed::rename, -1, 0, false),
    on_path(SYS_link, Kind::link, Deed::link, -1, 0, false),
    on_path(SYS_chmod, Kind::change, Deed::change, -1, 0),
    on_path(SYS_chown, Kind::change, Deed::change, -1, 0),
    on_path(SYS_lchown, Kind::change, Deed::change, -1, 0, false),
    on_path(SYS_utime, Kind::change, Deed::change, -1, 0),
    on_path(SYS_utimes, Kind::change, Deed::change, -1, 0),
    on_path(SYS_futimesat, Kind::change, Deed::change, 0, 1),
#endif
#ifdef SYS_renameat
    on_path(SYS_renameat, Kind::move, Deed::rename, 0, 1, false),
#endif
    on_descriptor(SYS_fchmod),
    on_descriptor(SYS_fchown),
    on_descriptor(SYS_fsetxattr),
    on_descriptor(SYS_fremovexattr),
    refused(SYS_open_by_handle_at, Deed::share, "files by their handles"),
    // Network.
    network(SYS_connect, Kind::address, Deed::connect),
    network(SYS_bind, Kind::address, Deed::listen),
    network(SYS_listen, Kind::listen, Deed::listen),
    sending(SYS_sendto, 4),
    network(SYS_sendmsg, Kind::message, Deed::send),
    network(SYS_sendmmsg, Kind::messages, Deed::send),
    // Calls that affect other processes.
    unless_zero(on_process(SYS_kill, Kind::processes, Deed::signal, 0), 1),
    unless_zero(on_process(SYS_tkill, Kind::signal, Deed::signal, 0), 1),
    unless_zero(on_process(SYS_tgkill, Kind::signal, Deed::signal, 0), 2),
    unless_zero(on_process(SYS_rt_sigqueueinfo, Kind::signal, Deed::signal, 0), 1),
    unless_zero(on_process(SYS_rt_tgsigqueueinfo, Kind::signal, Deed::signal, 0), 2),
    unless_zero(on_process(SYS_pidfd_send_signal, Kind::process, Deed::signal, -1), 1),
    tracing(PTRACE_ATTACH),
    tracing(PTRACE_SEIZE),
    on_process(SYS_process_vm_writev, Kind::process, Deed::trace, 0),
    on_process(kProcessMadvise, Kind::process, Deed::trace, -1),
    on_process(kPidfdGetfd, Kind::process, Deed::trace, -1),
    unless_zero(on_process(SYS_prlimit64, Kind::process, Deed::change, 0), 0),
    unless_zero(on_process(SYS_sched_setaffinity, Kind::process, Deed::change, 0), 0),
    unless_zero(on_process(SYS_sched_setscheduler, Kind::process, Deed::change, 0), 0),
    unless_zero(on_process(SYS_sched_setparam, Kind::process, Deed::change, 0), 0),
    unless_zero(on_process(SYS_sched_setattr, Kind::process, Deed::change, 0), 0),
    unless_zero(on_process(SYS_migrate_pages, Kind::process, Deed::change, 0), 0),
    unless_zero(on_process(SYS_move_pages, Kind::process, Deed::change, 0), 0),
    on_process(SYS_setpriority, Kind::priority, Deed::change, 1),
    on_process(SYS_ioprio_set, Kind::priority, Deed::change, 1),
    // Shared memory and messages that unrelated processes can use.
    refused(SYS_shmget, Deed::share, "System V shared memory"),
    refused(SYS_shmat, Deed::share, "System V shared memory"),
    refused(SYS_shmctl, Deed::share, "System V shared memory"),
    refused(SYS_semget, Deed::share, "System V semaphores"),
    refused(SYS_semop, Deed::share, "System V semaphores"),
    refused(SYS_semtimedop, Deed::share, "System V semaphores"),
    refused(SYS_semctl, Deed::share, "System V semaphores"),
    refused(SYS_msgget, Deed::share, "System V message queues"),
    refused(SYS_msgsnd, Deed::share, "System V message queues"),
    refused(SYS_msgrcv, Deed::share, "System V message queues"),
    refused(SYS_msgctl, Deed::share, "System V message queues"),
    refused(SYS_mq_open, Deed::share, "POSIX message queues"),
    refused(SYS_mq_unlink, Deed::share, "POSIX message queues"),
    refused(SYS_add_key, Deed::share, "the kernel's keyrings"),
    refused(SYS_request_key, Deed::share, "the kernel's keyrings"),
    refused(SYS_keyctl, Deed::share, "the kernel's keyrings"),
    // Programs could use these calls to bypass the filter. Programs that use them legitimately have a fallback.
    refused(SYS_io_uring_setup, Deed::share, "io_uring", ENOSYS),
    refused(SYS_setns, Deed::share, "other namespaces"),
    refused(SYS_chroot, Deed::share, "a different root folder"),
    refused(SYS_mount, Deed::administer, "file systems"),
    refused(SYS_umount2, Deed::administer, "file systems"),
    refused(SYS_pivot_root, Deed::administer, "file systems"),
    refused(SYS_move_mount, Deed::administer, "file systems"),
    refused(SYS_open_tree, Deed::administer, "file systems"),
    refused(SYS_fsopen, Deed::administer, "file systems"),
    refused(SYS_fsconfig, Deed::administer, "file systems"),
    refused(SYS_fsmount, Deed::administer, "file systems"),
    refused(SYS_fspick, Deed::administer, "file systems"),
    refused(kMountSetattr, Deed::administer, "file systems"),
    refused(kOpenTreeAttr, Deed::administer, "file systems"),
    refused(SYS_quotactl, Deed::administer, "quotas"),
    refused(kQuotactlFd, Deed::administer, "quotas"),
    refused(SYS_swapon, Deed::administer, "swap space"),
    refused(SYS_swapoff, Deed::administer, "swap space"),
    refused(SYS_reboot, Deed::administer, "the machine's power state"),
    refused(SYS_kexec_load, Deed::administer, "the kernel"),
    refused(SYS_init_module, Deed::administer, "the kernel's modules"),
    refused(SYS_finit_module, Deed::administer, "the kernel's modules"),
    refused(SYS_delete_module, Deed::administer, "the kernel's modules"),
    refused(SYS_bpf, Deed::administer, "the kernel's BPF programs"),
    refused(SYS_syslog, Deed::administer, "the kernel's log"),
    refused(SYS_acct, Deed::administer, "the kernel's accounting"),
    refused(SYS_fanotify_init, Deed::administer, "file watches"),
    refused(SYS_settimeofday, Deed::administer, "the clock"),
    refused(SYS_clock_settime, Deed::administer, "the clock"),
    refused(SYS_adjtimex, Deed::administer, "the clock"),
    refused(SYS_clock_adjtime, Deed::administer, "the clock"),
    refused(SYS_sethostname, Deed::administer, "the host's name"),
    refused(SYS_setdomainname, Deed::administer, "the host's name"),
    refused(SYS_vhangup, Deed::administer, "the terminal"),
#ifdef SYS_kexec_file_load
    refused(SYS_kexec_file_load, Deed::administer, "the kernel"),
#endif
#ifdef SYS_iopl
    refused(SYS_iopl, Deed::administer, "the machine's I/O ports"),
    refused(SYS_ioperm, Deed::administer, "the machine's I/O ports"),
#endif
};

}  // namespace

std::span<const CallRule> call_rules() { return kRules; }

std::span<const HarmlessRequest> harmless_requests() { return kHarmless; }

}  // namespace cudadiag::launch
