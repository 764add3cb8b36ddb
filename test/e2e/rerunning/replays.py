"""A launch that a rerun saved, and what it does when it is replayed on its own. Each function's name says what it
tests."""

import json
import pathlib
import shutil
import signal
import subprocess
import tempfile

from harness import DATA, SANITIZER_IS_HERE, expect, expect_in, expect_success, program, skip
from saved_launches import bisect_launch, change_launch, contents_of, description_of, replay_launch, save_launch
from targets import marked_line


# ---- saving


def failing_launch_is_saved_and_reproduces_alone(machine):
    finding, folder, result = save_launch(machine, "through")
    alone = finding["alone"]
    expect((alone["text"], alone["runs"], alone["as_it_did"]), ("reproduces alone: 20 of 20", 20, 20), "alone")
    expect_in("Alone   reproduces alone: 20 of 20", result.stdout, "text of bisect")
    launch = description_of(folder)
    expect((launch["kernel"]["mangled"], launch["failure"]["code"]), ("sim_store_through", 700), "launch")
    expect(launch["failure"]["location"]["line"], marked_line("saved_launch", "TRUE LINE")[1], "line")
    expect((folder / "image").read_text().startswith(".version 8.0"), True, "image")
    table, data = (next(b for b in launch["memory"] if b["bytes"] == size) for size in (8192, 4096))
    expect(table["pointed_to_by"], "parameter", "the table")
    expect(contents_of(folder, table)[:8], (0x10).to_bytes(8, "little"), "its pointer as it was before the launch")
    expect(data["pointed_to_by"], "memory", "the block that a variable of the module points to")
    idle = next(b for b in launch["memory"] if b["bytes"] == 12288)
    expect((idle["pointed_to_by"], idle["contents"]), ("nothing", None), "memory to which nothing points")
    for name in ("launch.json", "image", "README.md", "replay.cc", "replays.json"):
        expect((folder / name).stat().st_mode & 0o777, 0o600, "mode of " + name)


def pointers_in_memory_are_followed_one_level(machine):
    machine.plan("fault kernel=sim_store_through nth=3")
    finding, folder, _ = save_launch(machine, "good")
    launch = description_of(folder)
    reached = {block["bytes"]: block["pointed_to_by"] for block in launch["memory"] if not block["variable"]}
    expect(reached, {8192: "parameter", 4096: "memory", 12288: "nothing"}, "who points to which block")
    data = next(block for block in launch["memory"] if block["bytes"] == 4096)
    expect(contents_of(folder, data)[:4], b"\7\7\7\7", "contents of the block to which the table points")


def launch_that_failed_alone_but_not_in_its_replays_is_no_race(machine):
    # The failure is planned for the third launch of a process, but a replay has only one.
    machine.plan("fault kernel=sim_store_through nth=3")
    finding, _, _ = save_launch(machine, "good")
    expect_in("ran alone on the GPU and failed", finding["evidence"]["because"], "because")
    expect_in("the saved launch does not reproduce the failure, although the launch failed alone", finding["alone"]["text"],
              "alone")
    expect((finding["alone"]["runs"], finding["alone"]["did_not_fail"]), (20, 20), "counts")


def launch_that_does_not_fail_without_its_memory_is_no_race(machine):
    machine.plan("fault kernel=sim_store_through nth=3")
    finding, _, _ = save_launch(machine, "large_good", "--save-limit", "1")
    expect(finding["alone"]["text"], "does not fail alone, but 3 MiB of the memory that it could reach was not saved", "alone")


def launch_is_replayed_on_its_own_gpu(machine):
    wrapper = machine.folder / "wrapper"
    wrapper.write_text('#!/bin/sh\nexport CUDA_VISIBLE_DEVICES=3\nexec "$@"\n')
    wrapper.chmod(0o755)
    machine.plan("devices=4")
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.run(wrapper, machine.build / "targets/saved_launch", "through")
    expect_success(bisect_launch(machine))
    folder = pathlib.Path(machine.report()["findings"][0]["alone"]["folder"])
    bus = "0000:04:00.0"
    expect(description_of(folder)["gpu"]["pci"], bus, "GPU in launch.json")
    tally = json.loads((folder / "replays.json").read_text())
    expect((tally["gpu"], tally["as_it_did"]), (bus, 20), "GPU of the first replays")
    expect(replay_launch(machine, folder)["gpu"], bus, "GPU of a later replay")
    expect(replay_launch(machine, "--device", "0", folder)["gpu"], "0000:01:00.0", "GPU that the user chose")
    machine.plan("devices=2")
    expect_in(f"GPU {bus}, where the launch was saved, is not visible here; choose another with --device",
              replay_launch(machine, folder, status=125)["why"], "why")


def variables_of_the_module_are_saved(machine):
    _, folder, _ = save_launch(machine, "variable")
    (variable,) = [block for block in description_of(folder)["memory"] if block["variable"]]
    expect((variable["variable"], variable["bytes"], variable["kind"]), ("place", 8, "variable"), "variable")
    expect(contents_of(folder, variable), (0x10).to_bytes(8, "little"), "its value")
    expect(replay_launch(machine, folder)["outcome"], "fails as it did", "replay")


def memory_beyond_the_limit_is_listed_as_missing(machine):
    _, folder, _ = save_launch(machine, "large", "--save-limit", "1")
    table = next(block for block in description_of(folder)["memory"] if block["bytes"] == 4 << 20)
    expect((table["missing"], table["contents"]["bytes"]), ("limit", (1 << 20) - 8), "the table, after a variable")
    # The bad pointer is at the beginning of the block to which the parameter points.
    expect(replay_launch(machine, folder)["outcome"], "fails as it did", "replay")


def what_is_zero_takes_no_room_on_disk(machine):
    _, folder, _ = save_launch(machine, "large")
    table = next(block for block in description_of(folder)["memory"] if block["bytes"] == 4 << 20)
    status = (folder / table["contents"]["file"]).stat()
    expect((status.st_size, status.st_blocks * 512 < 1 << 20), (4 << 20, True), "size and allocated bytes")


def program_that_does_not_fail_leaves_no_launch(machine):
    machine.plan("fault kernel=sim_store_through nth=3 run=1")
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.run(machine.build / "targets/saved_launch", "good")
    result = bisect_launch(machine)
    expect_in("no launch was saved", result.stderr, "message")
    expect(machine.report()["findings"][0]["alone"], None, "alone")


# ---- nodes of graphs


def _saved_node(machine, mode, mark="TRUE LINE"):
    """Returns the folder of the node's launch, or None if it was not saved; and what bisect printed."""
    machine.run(machine.build / "targets/saved_node", mode)
    result = expect_success(bisect_launch(machine))
    (finding,) = machine.report()["findings"]
    location = finding["location"]
    expect((location["file"], location["line"]), marked_line("saved_node", mark), "true line")
    return pathlib.Path(finding["alone"]["folder"]) if finding["alone"] else None, finding, result


def _word(folder, launch, size, offset, length=4):
    block = next(block for block in launch["memory"] if block["bytes"] == size)
    return int.from_bytes(contents_of(folder, block)[offset:offset + length], "little")


def _expect_saved_before_it_ran(folder, launch):
    expect((launch["kernel"]["mangled"], launch["failure"]["code"]), ("sim_store_through", 700), "launch")
    expect(_word(folder, launch, 8192, 0), 0x10, "the pointer that the first kernel overwrote")
    words = tuple(_word(folder, launch, 4096, 4 * word) for word in range(4))
    expect(words, (13, 13, 22, 44), "each kernel before it has run once, and the one after it has not")


def node_of_a_graph_is_saved_after_what_it_depends_on(machine):
    folder, finding, result = _saved_node(machine, "captured")
    expect(finding["launch"]["graph_node"], {"index": 4, "of": 5, "replay": 3}, "node")
    expect(finding["alone"]["text"], "reproduces alone: 20 of 20", "alone")
    expect_in("Alone   reproduces alone: 20 of 20", result.stdout, "text of bisect")
    launch = description_of(folder)
    _expect_saved_before_it_ran(folder, launch)
    expect(launch["failure"]["location"]["line"], marked_line("saved_node", "TRUE LINE")[1], "line")
    expect(launch["grid"] + launch["block"], [1, 1, 1, 32, 1, 1], "grid and block")
    expect(replay_launch(machine, folder)["outcome"], "fails as it did", "replay")
    memory = {each["name"]: each["allocation"] for each in finding["arguments"]}
    expect(memory["parameter 1"]["bytes"], 8192, "memory of the node's first parameter")


def node_of_a_child_graph_is_saved(machine):
    folder, finding, _ = _saved_node(machine, "child")
    expect(finding["launch"]["graph_node"], {"index": 6, "of": 7, "replay": 3}, "node")
    _expect_saved_before_it_ran(folder, description_of(folder))


def node_that_depends_on_nothing_is_saved_whatever_else_its_graph_has(machine):
    folder, finding, _ = _saved_node(machine, "root")
    expect(finding["alone"]["text"], "reproduces alone: 20 of 20", "alone")
    expect(_word(folder, description_of(folder), 8192, 0), 0x10, "the pointer in its table")


def node_that_was_given_other_parameters_is_saved_with_these(machine):
    folder, finding, _ = _saved_node(machine, "changed", "TRUE LINE changed")
    expect(finding["alone"]["text"], "reproduces alone: 20 of 20", "alone")
    expect([each["name"] for each in finding["arguments"] if each["origin"] == "kernel"], [], "parameters, not known")
    launch = description_of(folder)
    table = next(block for block in launch["memory"] if block["bytes"] == 16384)
    expect(launch["parameters"][0]["bytes"], int(table["address"], 16).to_bytes(8, "little").hex(), "its table")


def node_of_an_updated_graph_is_saved_as_it_is_since(machine):
    folder, finding, _ = _saved_node(machine, "updated")
    expect(finding["alone"]["text"], "reproduces alone: 20 of 20", "alone")
    launch = description_of(folder)
    table = next(block for block in launch["memory"] if block["bytes"] == 16384)
    expect(launch["parameters"][0]["bytes"], int(table["address"], 16).to_bytes(8, "little").hex(), "its table")


def graph_with_a_host_function_is_not_launched_in_parts(machine):
    folder, _, result = _saved_node(machine, "host")
    expect(folder, None, "folder")
    expect_in("no launch was saved", result.stderr, "message")
    expect_in("cannot run separately from the graph's host functions", str(machine.report()["notes"]), "why")


def nothing_is_saved_if_several_nodes_of_a_graph_may_have_failed(machine):
    machine.plan("fault kernel=denoise nth=2 code=700")
    machine.run(machine.build / "targets/graph_conditional")
    result = bisect_launch(machine)
    expect_in("no launch was saved", result.stderr, "message")
    expect(machine.report()["findings"][0]["alone"], None, "alone")


def driver_that_switches_no_node_off_leaves_nothing_saved(machine):
    machine.plan("fail api=cuGraphNodeSetEnabled nth=every code=801")
    folder, _, _ = _saved_node(machine, "captured")
    expect(folder, None, "folder")
    expect_in("the driver could not disable", str(machine.report()["notes"]), "why")


def _output_of_saving(machine):
    """Returns what the program printed in the rerun that saves the launch."""
    (folder,) = (machine.state / "cudadiag" / machine.sessions()[-1]).glob("launch*")
    return (folder / "output.txt").read_text()


def graph_launched_in_two_parts_runs_each_node_once(machine):
    for mode in ("good", "off"):
        machine.plan("fault kernel=sim_store_through nth=3 run=1-2")
        machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.folder / mode)
        machine.run(machine.build / "targets/saved_node", mode)
        result = machine.cudadiag("bisect", "--no-device-pass", "--save-launch", timeout=100)
        expect_in("no launch was saved", result.stderr, "message")
        expect_in("each kernel ran once", _output_of_saving(machine), "the program's words in the rerun that saves")


# ---- replaying


def session_names_its_launch(machine):
    save_launch(machine, "through")
    said = machine.cudadiag("replay")
    expect(said.returncode, 0, "status")
    expect_in("running the device code in", said.stderr, "announcement")
    expect_in("Result   fails as it did: illegal memory access (700)", said.stdout, "text")


def launch_whose_memory_is_mended_does_not_fail(machine):
    _, folder, _ = save_launch(machine, "parameter")
    expect(replay_launch(machine, folder)["outcome"], "fails as it did", "as it was saved")
    data = next(int(block["address"], 16) for block in description_of(folder)["memory"] if block["bytes"] == 4096)

    def mend(description):
        description["parameters"][0]["bytes"] = data.to_bytes(8, "little").hex()

    change_launch(folder, mend)
    expect(replay_launch(machine, folder)["outcome"], "fails as it did", "with a table that holds no pointer")
    (folder / "memory-99").write_bytes((data + 128).to_bytes(8, "little") + bytes(4088))

    def fill(description):
        block = next(block for block in description["memory"] if block["bytes"] == 4096)
        block["contents"] = {"file": "memory-99", "from": 0, "bytes": 4096}
        block["pointed_to_by"] = "parameter"

    change_launch(folder, fill)
    expect(replay_launch(machine, folder, status=1)["outcome"], "does not fail", "with a good pointer in it")


def memory_is_placed_at_its_original_addresses(machine):
    _, folder, _ = save_launch(machine, "through")
    memory = replay_launch(machine, folder)["memory"]
    expect((memory["placed"], memory["blocks"] > 0), (memory["blocks"], True), "blocks at their original addresses")


def pointers_are_rewritten_where_the_addresses_are_not_granted(machine):
    _, folder, _ = save_launch(machine, "parameter")
    launch = description_of(folder)
    data = next(block for block in launch["memory"] if block["bytes"] == 4096)
    (folder / "memory-99").write_bytes((int(data["address"], 16) + 128).to_bytes(8, "little") + bytes(4088))

    def lead_through(description):
        description["parameters"][0]["bytes"] = int(data["address"], 16).to_bytes(8, "little").hex()
        block = next(block for block in description["memory"] if block["bytes"] == 4096)
        block["contents"] = {"file": "memory-99", "from": 0, "bytes": 4096}
        block["pointed_to_by"] = "parameter"

    change_launch(folder, lead_through)
    machine.plan("fail api=cuMemAddressReserve nth=every code=801")
    found = replay_launch(machine, folder, status=1)
    expect((found["outcome"], found["memory"]["rewritten"]), ("does not fail", 2), "outcome")
    expect(found["memory"]["placed"] < found["memory"]["blocks"], True, "a block is at a different address")


def every_replay_counts(machine):
    _, folder, _ = save_launch(machine, "through")
    runs = replay_launch(machine, "--times", "3", folder)["runs"]
    expect((runs["made"], runs["as_it_did"]), (3, 3), "runs")
    machine.plan("fault kernel=sim_store_through nth=1 code=719 run=2")
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.gpu / "replays")
    runs = replay_launch(machine, "--times", "2", folder)["runs"]
    expect((runs["as_it_did"], runs["otherwise"]), (1, 1), "runs, one with a different error")


def hanging_launch_is_ended(machine):
    _, folder, _ = save_launch(machine, "through")
    machine.plan("hang kernel=sim_store_through")
    found = replay_launch(machine, "--time-limit", "3", folder, status=1)
    expect((found["outcome"], found["runs"]["hung"]), ("hangs", 1), "outcome")


def interrupted_replay_is_no_hang(machine):
    _, folder, _ = save_launch(machine, "through")
    machine.plan("hang kernel=sim_store_through")
    for number, words in enumerate(((), ("--compare",))):
        begun = machine.folder / f"replay-{number}"
        machine.environment["CUDADIAG_SIM_RUNS"] = str(begun)
        replay = machine.start(*machine.command("replay", "--json", *words, folder))
        while not begun.exists():
            expect(replay.poll(), None, "status before the signal")
        replay.send_signal(signal.SIGINT)
        found = json.loads(replay.communicate(timeout=60)[0])
        expect(replay.returncode, 128 + signal.SIGINT, "status")
        expect((found["outcome"], found["runs"]["made"], found["compared"]), (None, 0, []), "what the replay shows")


def smallest_set_of_memory_is_found_and_written(machine):
    _, folder, _ = save_launch(machine, "through")
    launch = description_of(folder)
    found = replay_launch(machine, "--minimise", "--write", machine.folder / "small", folder)
    # A table of zeros leads to the null pointer, which fails in the same way.
    expect((found["minimal"]["needed"], found["minimal"]["whole"]), ([], True), "blocks")
    small = description_of(machine.folder / "small")
    expect([block for block in small["memory"] if block["contents"]], [], "contents")
    expect(len(small["memory"]), len(launch["memory"]), "blocks")
    expect(replay_launch(machine, machine.folder / "small")["outcome"], "fails as it did", "its replay")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:  # usually a different file system
        replay_launch(machine, "--minimise", "--write", f"{other}/small", folder)
        expect(replay_launch(machine, f"{other}/small")["outcome"], "fails as it did", "replay on another file system")


def search_that_cannot_begin_says_how_to_replay_more_often(machine):
    _, folder, _ = save_launch(machine, "through")
    small = machine.folder / "small"
    machine.plan("fault kernel=sim_store_through nth=1 code=719")
    for times, more in ((1, 20), (3, 30)):
        refused = machine.cudadiag("replay", "--minimise", "--times", str(times), "--write", small, folder)
        expect(refused.returncode, 125, "status")
        expect_in(f"; to replay it more often: cudadiag replay --minimise --write={small} --times={more} {folder}\n",
                  refused.stderr, "message")
    absent = machine.cudadiag("replay", "--minimise", "--device", "7", folder)
    expect((absent.returncode, "could not be made" in absent.stdout), (125, True), f"a GPU that is not there: {absent}")


ILLEGAL, ASSERT = DATA / "gpucore/illegal.nvcudmp.gz", DATA / "gpucore/assert.nvcudmp"


def _at_instruction_of_dump(machine, plan):
    """Saves a launch that failed at the instruction of ILLEGAL, and returns its folder. `plan` counts the replays as
    runs."""
    _, folder, _ = save_launch(machine, "through")
    place = {"function": "good", "offset": 0x30, "source": None}
    change_launch(folder, lambda launch: launch["failure"].update(instruction=place))
    machine.plan(plan)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.folder / "replays")
    return folder


def replay_that_hangs_does_not_fail_as_it_did(machine):
    folder = _at_instruction_of_dump(machine, f"dump={ILLEGAL}; hang kernel=sim_store_through run=3-")
    found = replay_launch(machine, "--times", "2", "--time-limit", "10", folder)
    expect(found["instruction"]["offset"], 0x30, "instruction of the first replay")
    expect((found["runs"]["as_it_did"], found["runs"]["hung"]), (1, 1), "runs, the second of which hangs")


def every_replay_compares_the_instruction(machine):
    folder = _at_instruction_of_dump(machine, f"dump={ILLEGAL}; dump={ASSERT} run=4-")
    runs = replay_launch(machine, "--times", "4", folder)["runs"]
    expect((runs["as_it_did"], runs["otherwise"]), (2, 2), "runs, the last two of them at a different instruction")


def assertion_that_is_reported_as_a_trap_fails_as_it_did(machine):
    folder = _at_instruction_of_dump(machine, f"fault kernel=sim_store_through nth=1 code=719; dump={ILLEGAL}")
    change_launch(folder, lambda launch: launch["failure"].update(code=710))
    runs = replay_launch(machine, "--times", "3", folder)["runs"]
    expect((runs["as_it_did"], runs["otherwise"]), (3, 0), "runs")


def replay_at_another_instruction_fails_otherwise(machine):
    folder = _at_instruction_of_dump(machine, f"dump={ASSERT}")
    found = replay_launch(machine, "--times", "2", folder, status=1)
    expect((found["outcome"], found["runs"]["otherwise"]), ("fails otherwise", 2), "outcome")


def smallest_set_keeps_blocks_without_which_another_instruction_fails(machine):
    folder = _at_instruction_of_dump(machine, f"dump={ILLEGAL}; dump={ASSERT} run=3-")
    found = replay_launch(machine, "--minimise", folder)
    contents = [index for index, block in enumerate(description_of(folder)["memory"]) if block["contents"]]
    expect((found["minimal"]["needed"], found["minimal"]["whole"]), (contents, True), "blocks")


def launch_that_fails_only_without_a_dump_fails_as_it_did(machine):
    runs = replay_launch(machine, "--times", "3", _at_instruction_of_dump(machine, "dump=lost"))["runs"]
    expect((runs["as_it_did"], runs["did_not_fail"]), (3, 0), "runs")


def launch_that_once_left_a_dump_and_then_none_fails_as_it_did(machine):
    folder = _at_instruction_of_dump(machine, f"dump={ILLEGAL}; dump=lost run=3-")
    runs = replay_launch(machine, "--times", "3", folder)["runs"]
    expect((runs["as_it_did"], runs["did_not_fail"]), (3, 0), "runs")


def driver_without_core_dumps_leaves_the_error_to_compare(machine):
    folder = _at_instruction_of_dump(machine, "")
    found = replay_launch(machine, "--times", "3", folder)
    expect((found["runs"]["as_it_did"], found["instruction"]), (3, None), "runs")


def equal_replays_compare_equal(machine):
    machine.plan("fault kernel=sim_store_through nth=3")
    _, folder, _ = save_launch(machine, "good")
    (first,) = replay_launch(machine, "--compare", folder, status=1)["compared"]
    expect((first["different"], first["compared"] >= 8192 + 4096), (0, True), "bytes")
    machine.plan("devices=2")
    (other,) = replay_launch(machine, "--compare", "--with-device", "1", folder, status=1)["compared"]
    expect((other["device"], other["different"]), (1, 0), "on a different GPU")


def replay_that_cannot_run_is_not_compared(machine):
    machine.plan("fault kernel=sim_store_through nth=3")
    _, folder, _ = save_launch(machine, "good")
    machine.plan("devices=2")
    absent = machine.cudadiag("replay", "--compare", "--with-device", "7", "--times", "4", folder)
    expect(absent.returncode, 125, "status without the second GPU")
    expect(absent.stdout.count("Compared "), 1, "comparisons: " + absent.stdout)
    expect_in("GPU 7: could not be made: cuDeviceGet returned 101", absent.stdout, "reason of the second replay")
    machine.plan("fail api=cuMemcpyDtoH_v2 code=719")
    (unstored,) = replay_launch(machine, "--compare", folder, status=1)["compared"]
    expect(unstored["obstacle"], "the memory contents after the launch could not be stored: cuMemcpyDtoH returned 719", "obstacle")
    machine.plan("")
    next(folder.glob("memory-*")).unlink()
    lacking = machine.cudadiag("replay", "--compare", folder)
    expect((lacking.returncode, "Compared" in lacking.stdout), (125, False), "status and text: " + lacking.stdout)
    expect_in("could not be made: memory-", lacking.stdout, "reason of the first replay")


def standalone_source_does_the_same(machine):
    compiler = shutil.which("c++")
    include = next((path for path in ("/usr/local/cuda/include", machine.build / "cuda/nvidia/cu13/include")
                    if pathlib.Path(path, "cuda.h").exists()), None)
    if not compiler or not include:
        skip("no compiler, or no cuda.h")
    _, folder, _ = save_launch(machine, "through")
    built = subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-isystem", str(include), "replay.cc", "-o", "alone",
                            f"-L{machine.build / 'sim'}", "-lcuda"], cwd=folder, capture_output=True, text=True)
    expect((built.returncode, built.stderr), (0, ""), "the compiler's output")
    done = machine.plain("./alone", cwd=folder)
    expect((done.returncode, "CUDA_ERROR_ILLEGAL_ADDRESS" in done.stdout), (1, True), f"its output: {done.stdout}")
    machine.plan("missing kernel=sim_store_through")
    expect_in("cuModuleGetFunction", machine.plain("./alone", cwd=folder).stdout, "a different problem")


def launch_that_a_killed_search_saved_for_itself_is_removed_by_the_next_run(machine):
    tools = machine.folder / "tools"
    tools.mkdir()
    (tools / "compute-sanitizer").symlink_to("/bin/true")  # a launch is saved only where the tool is installed
    machine.environment["PATH"] = f"{tools}:{machine.environment['PATH']}"
    kills = '"$@"; status=$?; test ! -e searcher || kill -KILL $(cat searcher); exit $status'
    saved = machine.build / "targets/saved_launch"
    for following in ([saved, "through"], ["true"]):  # one whose session is kept, and one whose is not
        shutil.rmtree(machine.state, ignore_errors=True)
        machine.run("sh", "-c", kills, "sh", saved, "through")
        (session,) = (machine.state / "cudadiag").glob("2*")
        search = machine.plain("sh", "-c", 'echo $$ >searcher; exec "$@"', "sh", *machine.command("bisect"))
        expect(search.returncode, -signal.SIGKILL, "status of the search")
        (machine.folder / "searcher").unlink()
        expect([path.parent.name for path in session.glob("*/launch-*")], ["confirm"], "launches left")
        machine.run(*following)
        expect([path.name for path in session.glob("confirm/*launch*")], [], f"files left after {following}")
        expect((session / "confirm").is_dir(), True, "the rerun's folder")


# ---- launches of other users


def options_of_replay_that_ignore_each_other_are_refused(machine):
    for words in (("--minimise", "--compare"), ("--sanitize", "--compare"), ("--sanitize", "--minimise"), ("--sanitize", "--times=2")):
        refused = machine.cudadiag("replay", *words)
        expect((refused.returncode, "cannot be combined with" in refused.stderr), (125, True), f"{words}: {refused.stderr}")


# ---- compute-sanitizer


def findings_of_the_sanitizer_name_the_block(machine):
    """A script stands in for compute-sanitizer: it runs the launch, and prints memcheck's report about the first
    allocation."""
    _, folder, _ = save_launch(machine, "through")
    tools = machine.folder / "tools"
    tools.mkdir()
    tool = tools / "compute-sanitizer"
    tool.write_text("""#!/bin/sh
log= answer=
while [ $# -gt 0 ]; do
  case $1 in
    --log-file) log=$2; shift;;
    */cudadiag) break;;
  esac
  shift
done
"$@"
answer=$(echo "$*" | sed 's/.*--answer \\([^ ]*\\).*/\\1/')
address=$(sed -n 's/^block 0 //p' "$answer")
cat >"$log" <<END
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at sim_store_through+0x90 in /home/me/store.cu:7
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x7f0000002004 is out of bounds
=========     and is 5 bytes after the nearest allocation at 0x$address of size 8192 bytes
=========
========= ERROR SUMMARY: 1 error
END
""")
    tool.chmod(0o755)
    machine.environment["PATH"] = f"{tools}:{machine.environment['PATH']}"
    launch = description_of(folder)
    result = machine.cudadiag("replay", "--sanitize", folder)
    expect(result.returncode, 0, "status")
    index = 0
    expect_in(f"memory block {index} ({launch['memory'][index]['bytes']:,} bytes at {launch['memory'][index]['address']})",
              result.stdout, "text")
    expect_in("in /home/me/store.cu:7", result.stdout, "line")
    found = replay_launch(machine, "--sanitize=memcheck", folder)["sanitizer"]
    expect((found["tool"], found["errors"], len(found["accesses"])), ("memcheck", 1, 1), "JSON")
    (folder / "image").rename(folder / "elsewhere")
    unmade = machine.cudadiag("replay", "--sanitize", folder)
    expect(unmade.returncode, 125, "status without an image")
    expect_in("could not be made: image is missing", unmade.stdout, "its reason")
    expect("0 errors" in unmade.stdout, False, "a count of errors")
    refused = machine.cudadiag("replay", "--sanitize=nonsense", folder)
    expect(refused.returncode, 125, "status")
    expect_in("--sanitize: expected one of memcheck, racecheck, initcheck, synccheck, got nonsense", refused.stderr,
              "message")


def saving_is_suggested_only_if_it_can_add_a_launch(machine):
    machine.plan("")
    machine.run(*program("refused_launch.py"), options=["-o", "refused"])
    expect_in("; the session has no failed GPU work\n", machine.cudadiag("replay", "-o", "refused").stderr, "a refused launch")
    save_launch(machine, "through")
    again = machine.cudadiag("bisect", "--no-device-pass").stderr
    expect_in("a rerun would add nothing: the failure is already proven", again, "after the launch was saved")
    assert "--save-launch" not in again, again


def sanitizer_that_is_not_there_is_named(machine):
    if SANITIZER_IS_HERE:
        skip("it is installed here")
    _, folder, _ = save_launch(machine, "through")
    machine.environment["PATH"] = "/usr/bin:/bin"
    refused = machine.cudadiag("replay", "--sanitize", folder)
    expect_in("compute-sanitizer is not installed here", refused.stderr, "message")
