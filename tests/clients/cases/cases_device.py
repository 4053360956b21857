# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The device's attributes, its permissions, and one-sided operations on a sleeping process."""

import os
import pathlib
import re
import shutil
import signal

import for_nobody
import reports
from harness import Failure, Skip, case, daemons

LIMITS = pathlib.Path(__file__).resolve().parents[3] / "docs/limits.md"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
          "--inh-caps=-all", "--bounding-set=-all"]


@case("devinfo", "devices")
def devices(lab):
    text = lab.run(["ibv_devices"])
    if not re.search(r"^\s*adverb0\s+[0-9a-f]{16}\s*$", text, re.M):
        raise Failure(f"no line for adverb0:\n{text}")


@case("devinfo", "verbose")
def verbose(lab):
    text = lab.run(["ibv_devinfo", "-v"])
    wanted = {"hca_id": "adverb0", "transport": "InfiniBand (0)", "state": "PORT_ACTIVE (4)",
              "active_mtu": "4096 (5)", "link_layer": "Ethernet"}
    for name, value in wanted.items():
        if reports.port_attribute(text, name) != value:
            raise Failure(f"{name} is not '{value}':\n{text}")
    gids = set(reports.gid_table(text).values())
    if not {"::ffff:127.0.0.1", "::1"} <= gids:
        raise Failure(f"loopback addresses missing among the GIDs {gids}:\n{text}")


@case("devinfo", "limits")
def limits(lab):
    """docs/limits.md has the limits that the device reports."""
    text = lab.run(["ibv_devinfo", "-v"])
    rows = re.findall(r"^\| `(max_\w+)` \| ([0-9,]+) \|", LIMITS.read_text(), re.M)
    told = dict(re.findall(r"^\s*(max_\w+):\s+(\d+)$", text, re.M))
    wrong = [(name, value, told.get(name)) for name, value in rows
             if told.get(name) != value.replace(",", "")]
    if len(rows) < 17 or wrong:
        raise Failure(f"docs/limits.md has {len(rows)} limits; different: {wrong}")


@case("devinfo", "gids")
def gids_command(lab):
    text = lab.run([lab.adverb, "gids"], adverb=False)
    rows = [line.split() for line in text.splitlines() if line[:1].isdigit()]
    if [row[0] for row in rows] != ["0", "1"] or "127.0.0.1" not in rows[0] or \
            not all("lo" in row and "v2" in row for row in rows):
        raise Failure(f"not just the two loopback addresses:\n{text}")


@case("devinfo", "other-libraries")
def other_libraries(lab):
    """A program that does not use Adverb's libraries learns why it has no device, and what to do."""
    def says(words, *texts, adverb=lab.adverb):
        process = lab.start([adverb, "run", "--", *words], adverb=False)
        process.wait(30)
        text = process.output()
        for wanted in texts:
            if not re.search(wanted, text):
                raise Failure(f"{words}: the output lacks '{wanted}':\n{text}")
    program, folder = lab.client("devices"), lab.build.resolve() / "lib"
    none = "devices: 0"
    says([program], none, "no device: this program uses .*/libibverbs.so.1, because a DT_RPATH")
    says(["sh", "-c", f"LD_PRELOAD=$LD_PRELOAD:{folder}/libibverbs.so.1:{folder}/librdmacm.so.1 exec {program}"],
         "devices: 1")
    says(["sh", "-c", "unset LD_LIBRARY_PATH; ibv_devices"],
         f"uses .*/libibverbs.so.1, because a wrapper has taken {folder} out of LD_LIBRARY_PATH")
    for words in (["sh", "-c", f"{lab.client('linked')}; true"], ["env", lab.client("linked")],
                  ["python3", "-c", f"import subprocess; subprocess.run(['{lab.client('linked')}'])"]):
        says(words, none, "no device: .*/linked is statically linked")
    part = lab.dir / "part"
    for path in [lab.build / "adverb", lab.build / "adverbd", folder / "libibverbs.so.1", folder / "libadverb-sysfs.so"]:
        to = part / path.resolve().relative_to(lab.build.resolve()).parent / path.name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    says(["rping", "-c", "-a", "127.0.0.1"], f"because {part}/lib/librdmacm.so.1 does not exist: build",
         adverb=part / "adverb")
    quiet = lab.run([lab.adverb, "run", "--", "sh", "-c", "ibv_devices; cat /sys/class/infiniband/*/node_type; true"],
                    adverb=False)
    if "no device" in quiet:
        raise Failure(quiet)


@case("devinfo", "daemon-leaves")
def daemon_leaves(lab):
    lab.run(["ibv_devinfo"])
    lab.wait_until(lambda: not daemons(), 30, "the daemon leaves after its last client")
    lab.run(["ibv_devinfo"])


@case("devinfo", "exit-status")
def exit_status(lab):
    """adverb run is transparent: exit status, arguments, environment."""
    lab.run(["sh", "-c", "exit 7"], status=7)
    text = lab.run(["printf", "%s|", "a b", "", "--", "-x"])
    if text != "a b||--|-x|":
        raise Failure(f"arguments were changed: {text!r}")


def as_nobody(lab):
    if not lab.is_root:
        raise Skip("already without privilege: so is every other case")
    home = lab.dir / "nobody"
    home.mkdir()
    os.chown(home, 65534, 65534)
    if not for_nobody.usable(lab.build):
        for_nobody.copy_build(lab.build, lab.dir / "build")
        lab.adverb = lab.dir / "build" / "adverb"
    return {"HOME": str(home), "XDG_RUNTIME_DIR": str(home)}


@case("unprivileged", "devinfo")
def unprivileged_devinfo(lab):
    text = lab.run(["ibv_devinfo"], prefix=NOBODY, env=as_nobody(lab))
    if reports.port_attribute(text, "state") != "PORT_ACTIVE (4)":
        raise Failure(f"port is not active:\n{text}")


def unprivileged_pair(lab, server, size, iterations):
    env = as_nobody(lab)
    _, client = lab.pair(server, [*server, "127.0.0.1"], env=env, server_prefix=NOBODY,
                         client_prefix=NOBODY)
    if "pingpong" in server[0]:
        reports.pingpong(client, size, iterations)
    else:
        reports.perftest(client, [size], iterations)


@case("unprivileged", "rc-pingpong")
def unprivileged_pingpong(lab):
    unprivileged_pair(lab, ["ibv_rc_pingpong", "-g", "0", "-c"], 4096, 1000)


@case("unprivileged", "write-bw")
def unprivileged_write_bw(lab):
    unprivileged_pair(lab, ["ib_write_bw", "-F", "-n", "1000"], 65536, 1000)


@case("unprivileged", "no-memlock")
def unprivileged_no_memlock(lab):
    """Adverb locks no memory, so a container's small RLIMIT_MEMLOCK has no effect."""
    env = as_nobody(lab)
    command = ["ib_write_bw", "-F", "-n", "100", "-s", "1048576"]
    limit = ["prlimit", "--memlock=65536", *NOBODY]
    _, client = lab.pair(command, [*command, "127.0.0.1"], env=env, server_prefix=limit,
                         client_prefix=limit)
    reports.perftest(client, [1048576], 100)


@case("sleep", "one-sided")
def one_sided(lab):
    program = lab.client("sleeper")
    lab.pair([program, "-t", "3"], [program, "127.0.0.1"], port=18700, seconds=60)


@case("sleep", "stopped-then-continued")
def stopped(lab):
    """A peer of a stopped process waits until the process continues."""
    program = lab.client("exchange")
    one = lab.start([program])
    lab.wait_listening(one, 18600)
    two = lab.start([program, "-t", "4", "127.0.0.1"])
    lab.wait_until(lambda: "libibverbs" in _maps(two.pid), 20, "the caller has started")
    lab.system(f"sleep 1; kill -STOP {two.pid}; sleep 0.1; kill -CONT {two.pid}")
    two.expect(0, 60)
    one.expect(0, 60)


def _maps(pid):
    try:
        with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
            return maps.read()
    except OSError:
        return ""


def is_stopped(process):
    """Whether a process or one of its children is stopped by a signal."""
    def stopped_one(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                return stat.read().rpartition(")")[2].split()[0] == "T"
        except OSError:
            return False
    return stopped_one(process.pid)


def stream(lab, *options, shm=True, receiver=()):
    """Starts the program `stream`; returns (receiver, sender)."""
    run = [lab.adverb, "run", *([] if shm else ["--no-shm"]), "--", lab.client("stream"), *options]
    one = lab.start([*run, *receiver], adverb=False)
    lab.wait_listening(one, 18800)
    return one, lab.start([*run, "127.0.0.1"], adverb=False)


def register_stopped_receiver(name, options, shm, seconds):
    @case("sleep", name, seconds=240)
    def run(lab):
        """With all receives posted, a stopped receiver loses nothing, as with a NIC."""
        one, two = stream(lab, *options, shm=shm, receiver=["-x"])
        lab.wait_until(lambda: is_stopped(one), 60, "the receiver stops")
        lab.system(f"sleep {seconds}")
        os.kill(one.pid, signal.SIGCONT)
        one.expect(0, 120)
        two.expect(0, 60)


for a_way, goes_by_memory in (("memory", True), ("udp", False)):
    for a_time in (0.6, 3):
        register_stopped_receiver(f"uc-receiver-stopped-{a_time}s-{a_way}", [], goes_by_memory, a_time)
register_stopped_receiver("uc-receiver-stopped-12s-udp", [], False, 12)
register_stopped_receiver("ud-receiver-stopped-0.6s", ["-u"], True, 0.6)
register_stopped_receiver("ud-receiver-stopped-3s", ["-u"], True, 3)


def register_receiver_killed(name, shm):
    @case("sleep", name)
    def run(lab):
        """A sender to a stopped process continues when that process has exited."""
        one, two = stream(lab, shm=shm, receiver=["-x"])
        lab.wait_until(lambda: is_stopped(one), 60, "the receiver stops")
        lab.system("sleep 1")
        if not two.running():
            raise Failure("the sender did not wait:\n" + two.describe())
        one.kill()
        two.expect(0, 60)


register_receiver_killed("uc-receiver-killed-memory", True)
register_receiver_killed("uc-receiver-killed-udp", False)
