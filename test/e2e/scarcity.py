"""Full disks, little shared memory, little memory: the program behaves as without us, what can be kept is, and what cannot
is said; a function each; its name is the claim."""

import contextlib
import os
import pathlib

from harness import expect, expect_answer, expect_in, faulty, in_namespace, skip


def full_disk_under_the_sessions(machine):
    faulty_program = faulty(machine)
    plain = machine.plain(faulty_program)
    machine.state.mkdir()
    recorded = in_namespace(machine, ["--mount"], f"mount -t tmpfs -o size=16k none {machine.state} || exit 77",
                            *machine.command("run", "--rerun=never", "--", faulty_program))
    expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), "status and stdout")
    expect_in("illegal memory access (700)", recorded.stderr, "report")
    expect_in("No space left on device", recorded.stderr, "message")


def no_shared_memory(machine):
    """/dev/shm is small and full: it is the data loaders', and none of it is taken."""
    faulty_program = faulty(machine)
    plain = machine.plain(faulty_program)
    fill = "mount -t tmpfs -o size=64k none /dev/shm || exit 77; head -c 1M /dev/zero > /dev/shm/full 2>/dev/null"
    recorded = in_namespace(machine, ["--mount"], fill, *machine.command("run", "--rerun=never", "--", faulty_program))
    expect_answer(machine, recorded, plain)


@contextlib.contextmanager
def _memory_group(megabytes):
    """What goes before a command that is to run in a memory group of its own: with version 1 of groups or with 2."""
    name, obstacles = f"cudadiag-test-{os.getpid()}", []
    for root, limit, swap, most_swap in (
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", megabytes << 20),
            ("/sys/fs/cgroup", "memory.max", "memory.swap.max", 0)):
        group = pathlib.Path(root, name)
        handed_on = pathlib.Path(root, "cgroup.subtree_control")
        if limit == "memory.max" and not (handed_on.exists() and "memory" in handed_on.read_text().split()):
            obstacles.append(f"memory is not in {handed_on}")
            continue
        with contextlib.ExitStack() as made:
            try:
                group.mkdir()
                made.callback(group.rmdir)
                (group / limit).write_text(str(megabytes << 20))
                if (group / swap).exists():  # where the kernel counts it
                    (group / swap).write_text(str(most_swap))
            except OSError as error:
                obstacles.append(f"{root}: {error.strerror}")
                continue
            yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$0" "$@"']
            return
    skip("no memory group can be made: " + "; ".join(obstacles))


def little_memory(machine):
    """Room for the program and little more; the record's pages count in it as they are touched."""
    with _memory_group(48) as grouped:
        faulty_program = faulty(machine)
        plain = machine.plain(*grouped, faulty_program)
        recorded = machine.plain(*grouped, *machine.command("run", "--rerun=never", "--", faulty_program))
        expect_answer(machine, recorded, plain)
