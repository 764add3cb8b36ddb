#include "launch/isolation/syscall_rules.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <iterator>

namespace cudadiag::launch {
namespace {

using Kind = SyscallRule::Kind;
using When = SyscallRule::When;
using session::Deed;

// Defined here, because the build machine's kernel headers may lack them. The numbers are the same on all
// architectures.
constexpr long kFchmodat2 = 452, kSetxattrat = 463, kRemovexattrat = 466, kOpenTreeAttr = 467, kFileSetattr = 469;
constexpr long kMountSetattr = 442, kQuotactlFd = 443;
constexpr long kPidfdGetfd = 438, kProcessMadvise = 440;
constexpr std::uint32_t kSetWriteHint = 1036, kSetFileWriteHint = 1038, kSetDelegation = 1040;  // for fcntl
constexpr std::uint32_t kTakeOffline = 101;                                                     // for madvise
constexpr const char *kWriteHints = "hints about writes to a file", *kPages = "the machine's memory pages";

// Opening for reading is not checked, not even in /proc: a program opens thousands of files when it starts, and a check
// takes ten microseconds or more.
constexpr std::uint32_t kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

constexpr SyscallRule on_path(long number, Kind kind, Deed deed, int folder, int path, bool follows = true) {
  SyscallRule rule;
  rule.number = number;
  rule.kind = kind;
  rule.deed = deed;
  rule.folder = static_cast<std::int8_t>(folder);
  rule.path = static_cast<std::int8_t>(path);
  rule.follows = follows;
  return rule;
}

// For a call without a path: `argument` is that with the address or the process (SyscallRule::Kind).
constexpr SyscallRule on(long number, Kind kind, Deed deed, int argument = 0) {
  return on_path(number, kind, deed, -1, argument);
}

constexpr SyscallRule on_descriptor(long number) { return on(number, Kind::descriptor, Deed::change); }

// `flags` is the index of the argument that may contain a no-follow flag.
constexpr SyscallRule with_flags(SyscallRule rule, int flags) {
  rule.flags = static_cast<std::int8_t>(flags);
  return rule;
}

constexpr SyscallRule only_if(SyscallRule rule, int tested, std::uint32_t bits, When when = When::equal) {
  rule.when = when;
  rule.tested = static_cast<std::int8_t>(tested);
  rule.bits = bits;
  return rule;
}

constexpr SyscallRule unless_zero(SyscallRule rule, int tested) { return only_if(rule, tested, 0, When::nonzero); }

constexpr SyscallRule opening(long number, int folder, int path, int flags) {
  return only_if(with_flags(on_path(number, Kind::open, Deed::write, folder, path), flags), flags, kWrites,
                 When::any_bit);
}

constexpr SyscallRule tracing(std::uint32_t request) {
  return only_if(on(SYS_ptrace, Kind::process, Deed::trace, 1), 0, request);
}

constexpr SyscallRule refused(long number, Deed deed, const char* what, int error = EPERM) {
  SyscallRule rule = on(number, Kind::refuse, deed);
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
    // Requests of NVIDIA's unified memory driver are plain numbers. The supervisor checks those below 32, which
    // programs issue when they start, because SCSI disks use the same numbers.
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

constexpr SyscallRule kRules[] = {
    // First, because programs that use a GPU issue it most often.
    only_if(on(SYS_ioctl, Kind::control, Deed::change), 1, 0, When::unlisted),
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
    // Through descriptors that were opened for reading.
    only_if(refused(SYS_fcntl, Deed::share, "leases of files"), 1, F_SETLEASE),
    only_if(refused(SYS_fcntl, Deed::share, "leases of folders"), 1, kSetDelegation),
    only_if(refused(SYS_fcntl, Deed::change, kWriteHints), 1, kSetWriteHint),
    only_if(refused(SYS_fcntl, Deed::change, kWriteHints), 1, kSetFileWriteHint),
    refused(SYS_open_by_handle_at, Deed::share, "files by their handles"),
    // Network.
    on(SYS_connect, Kind::address, Deed::connect, 1),
    on(SYS_bind, Kind::address, Deed::listen, 1),
    on(SYS_listen, Kind::listen, Deed::listen, 1),
    unless_zero(on(SYS_sendto, Kind::datagram, Deed::send, 4), 4),
    on(SYS_sendmsg, Kind::message, Deed::send, 1),
    on(SYS_sendmmsg, Kind::messages, Deed::send, 1),
    // Calls that affect other processes.
    unless_zero(on(SYS_kill, Kind::processes, Deed::signal, 0), 1),
    unless_zero(on(SYS_tkill, Kind::signal, Deed::signal, 0), 1),
    unless_zero(on(SYS_tgkill, Kind::signal, Deed::signal, 0), 2),
    unless_zero(on(SYS_rt_sigqueueinfo, Kind::signal, Deed::signal, 0), 1),
    unless_zero(on(SYS_rt_tgsigqueueinfo, Kind::signal, Deed::signal, 0), 2),
    unless_zero(on(SYS_pidfd_send_signal, Kind::process, Deed::signal, -1), 1),
    tracing(PTRACE_ATTACH),
    tracing(PTRACE_SEIZE),
    unless_zero(on(SYS_perf_event_open, Kind::events, Deed::trace, 1), 1),
    only_if(on(SYS_perf_event_open, Kind::events, Deed::trace, 1), 4, PERF_FLAG_PID_CGROUP, When::any_bit),
    on(SYS_process_vm_writev, Kind::process, Deed::trace, 0),
    only_if(refused(kProcessMadvise, Deed::administer, kPages), 3, MADV_HWPOISON),
    only_if(refused(kProcessMadvise, Deed::administer, kPages), 3, kTakeOffline),
    on(kProcessMadvise, Kind::process, Deed::trace, -1),
    on(kPidfdGetfd, Kind::process, Deed::trace, -1),
    unless_zero(on(SYS_prlimit64, Kind::process, Deed::change, 0), 2),
    unless_zero(on(SYS_sched_setaffinity, Kind::process, Deed::change, 0), 0),
    unless_zero(on(SYS_sched_setscheduler, Kind::process, Deed::change, 0), 0),
    unless_zero(on(SYS_sched_setparam, Kind::process, Deed::change, 0), 0),
    unless_zero(on(SYS_sched_setattr, Kind::process, Deed::change, 0), 0),
    unless_zero(on(SYS_migrate_pages, Kind::process, Deed::change, 0), 0),
    unless_zero(on(SYS_move_pages, Kind::process, Deed::change, 0), 0),
    // Only the group of the terminal's job can read what the user types.
    unless_zero(on(SYS_setpgid, Kind::group, Deed::change, 1), 1),
    on(SYS_setpriority, Kind::priority, Deed::change, 1),
    on(SYS_ioprio_set, Kind::priority, Deed::change, 1),
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
    // A queue can be opened as a file in /dev/mqueue, too.
    refused(SYS_mq_timedsend, Deed::share, "POSIX message queues"),
    refused(SYS_mq_timedreceive, Deed::share, "POSIX message queues"),
    refused(SYS_mq_notify, Deed::share, "POSIX message queues"),
    refused(SYS_mq_getsetattr, Deed::share, "POSIX message queues"),
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
    only_if(refused(SYS_madvise, Deed::administer, kPages), 2, MADV_HWPOISON),
    only_if(refused(SYS_madvise, Deed::administer, kPages), 2, kTakeOffline),
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

// The calls that need no check: they change only the caller, its memory and what it has opened, or nothing. A call that
// is in neither table is refused, because the kernel gets new ones. Numbers without names are calls that the build
// machine's headers may lack: 449 is futex_waitv and 470 listns.
constexpr long kUnchecked[] = {
    // Memory.
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_msync,
    SYS_mincore,
    SYS_mlock,
    SYS_mlock2,
    SYS_munlock,
    SYS_mlockall,
    SYS_munlockall,
    SYS_mbind,
    SYS_set_mempolicy,
    SYS_get_mempolicy,
    SYS_remap_file_pages,
    SYS_pkey_mprotect,
    SYS_pkey_alloc,
    SYS_pkey_free,
    SYS_memfd_create,
    SYS_shmdt,
    SYS_membarrier,
    SYS_userfaultfd,
    447 /* memfd_secret */,
    450 /* set_mempolicy_home_node */,
    453 /* map_shadow_stack */,
    462 /* mseal */,
    // Open files.
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_preadv2,
    SYS_pwritev2,
    SYS_lseek,
    SYS_close,
    SYS_close_range,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_flock,
    SYS_fsync,
    SYS_fdatasync,
    SYS_sync,
    SYS_syncfs,
    SYS_sync_file_range,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fadvise64,
    SYS_readahead,
    SYS_sendfile,
    SYS_splice,
    SYS_tee,
    SYS_vmsplice,
    SYS_copy_file_range,
    SYS_io_setup,
    SYS_io_destroy,
    SYS_io_submit,
    SYS_io_cancel,
    SYS_io_getevents,
    SYS_io_pgetevents,
    // Reading about files.
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_getdents64,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_getcwd,
    SYS_chdir,
    SYS_fchdir,
    SYS_umask,
    SYS_getxattr,
    SYS_lgetxattr,
    SYS_fgetxattr,
    SYS_listxattr,
    SYS_llistxattr,
    SYS_flistxattr,
    SYS_name_to_handle_at,
    SYS_inotify_init1,
    SYS_inotify_add_watch,
    SYS_inotify_rm_watch,
    451 /* cachestat */,
    457 /* statmount */,
    458 /* listmount */,
    464 /* getxattrat */,
    465 /* listxattrat */,
    468 /* file_getattr */,
    470,
    // Waiting.
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_epoll_pwait2,
    SYS_eventfd2,
    SYS_signalfd4,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
    SYS_futex,
    449,
    454 /* futex_wake */,
    455 /* futex_wait */,
    456 /* futex_requeue */,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_sched_yield,
    SYS_restart_syscall,
    // Sockets that are open already.
    SYS_socket,
    SYS_socketpair,
    SYS_accept,
    SYS_accept4,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_shutdown,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_recvmmsg,
    // Processes and threads of its own.
    SYS_clone,
    SYS_clone3,
    SYS_execve,
    SYS_execveat,
    SYS_exit,
    SYS_exit_group,
    SYS_wait4,
    SYS_waitid,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getpgid,
    SYS_getsid,
    SYS_setsid,
    SYS_pidfd_open,
    SYS_set_tid_address,
    SYS_unshare,
    SYS_personality,
    SYS_prctl,
    SYS_rseq,
    SYS_seccomp,
    SYS_kcmp,
    SYS_process_vm_readv,
    SYS_landlock_create_ruleset,
    SYS_landlock_add_rule,
    SYS_landlock_restrict_self,
    459 /* lsm_get_self_attr */,
    460 /* lsm_set_self_attr */,
    461 /* lsm_list_modules */,
    // Rights, limits and places of the caller.
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    SYS_capget,
    SYS_capset,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_getrusage,
    SYS_getpriority,
    SYS_ioprio_get,
    SYS_sched_getaffinity,
    SYS_sched_getattr,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_sched_rr_get_interval,
    SYS_getcpu,
    // Signals to the caller.
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    SYS_getitimer,
    SYS_setitimer,
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_gettime,
    SYS_timer_getoverrun,
    SYS_timer_delete,
    // Reading about the machine.
    SYS_uname,
    SYS_sysinfo,
    SYS_times,
    SYS_gettimeofday,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_getrandom,
#ifdef SYS_open
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_getdents,
    SYS_ustat,
    SYS_sysfs,
    SYS_poll,
    SYS_select,
    SYS_pause,
    SYS_alarm,
    SYS_pipe,
    SYS_dup2,
    SYS_fork,
    SYS_vfork,
    SYS_getpgrp,
    SYS_time,
    SYS_inotify_init,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_signalfd,
    SYS_eventfd,
    SYS_arch_prctl,
    SYS_modify_ldt,
    SYS_get_thread_area,
    SYS_set_thread_area,
    335 /* uretprobe */,
#endif
};

}  // namespace

std::span<const SyscallRule> call_rules() { return kRules; }

std::span<const long> unchecked_calls() { return kUnchecked; }

std::span<const HarmlessRequest> harmless_requests() { return kHarmless; }

}  // namespace cudadiag::launch
