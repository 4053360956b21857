# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NVMe over Fabrics: the host of `adverb nvme` against its target. ADVERB_NVME names another program, such as
one that is built with a sanitizer. The group nvme-long is not in the ordinary checks."""

import json
import os
import random
import re
import signal

from cases_tap import Trace, check_icrc
from harness import Failure, case, daemons, process_name

NQN = "nqn.2026-01.org.adverb:disk"
ADDRESSES = {"ipv4": ("127.0.0.1", "127.0.0.1"), "ipv6": ("::1", "[::1]")}


def program(lab):
    return os.environ.get("ADVERB_NVME") or lab.build / "adverb-nvme"


def serve(lab, *options, listen="127.0.0.1", faults=""):
    """Starts a target, and returns it when it listens."""
    return lab.start_server([program(lab), "serve", "-l", listen, *options], f"subsystem {NQN}",
                            env={"ADVERB_FAULT": faults} if faults else None)


def host(lab, command, *options, address="127.0.0.1"):
    """Returns the words of a command of the host."""
    named = [] if command in ("discover", "list") else ["-n", NQN]
    return [program(lab), command, "-a", address, *named, *options]


def end(target):
    """SIGTERM ends a target in order: no queue is left behind."""
    target.popen.terminate()
    target.expect(0, 30)
    if "did not close" in target.output():
        raise Failure(target.describe())


def register_family(family, group):
    address, listen = ADDRESSES[family]

    @case(group, family)
    def run(lab):
        """Discovery, two namespaces, verified data in and outside capsules, several queues."""
        path = lab.dir / "disk"
        lab.system(f"truncate -s 16M '{path}'")
        target = serve(lab, "-n", "ram:16MiB", "-n", path, "-w", "2", listen=listen)
        found = json.loads(lab.run(host(lab, "discover", "-o", "json", address=address)))["records"]
        if [(r["subnqn"], r["traddr"], r["trsvcid"]) for r in found] != [(NQN, lab.server_address(address), "4420")]:
            raise Failure(f"discovered: {found}")
        listed = json.loads(lab.run(host(lab, "list", "-o", "json", address=address)))
        if [row["nsid"] for row in listed] != [1, 2]:
            raise Failure(f"listed: {listed}")
        # The second time, data goes from the host into the memory of namespace 1 itself.
        for namespace, options in (("1", ["-i", "4", "-Q", "16"]),
                                   ("1", ["-i", "4", "-Q", "4", "-b", "64KiB", "--seed", "2"]),
                                   ("2", ["-b", "128KiB", "-Q", "8"]),
                                   ("2", ["-b", "1MiB", "-Q", "2", "--offset", "1MiB"])):
            lab.run(host(lab, "verify", "-N", namespace, *options, address=address))
        end(target)


@case("nvme-long", "copy")
def copy(lab):
    """A file goes to the namespace and back, and is in the target's file."""
    disk, source, back = lab.dir / "disk", lab.dir / "source", lab.dir / "back"
    source.write_bytes(os.urandom(1_000_000))
    lab.system(f"truncate -s 4M '{disk}'")
    target = serve(lab, "-n", disk, "-b", "512")
    lab.run(host(lab, "write", "--offset", "512B", source))
    lab.run(host(lab, "read", "--offset", "512B", "--size", "1000448B", back))
    if back.read_bytes()[:1_000_000] != source.read_bytes():
        raise Failure("the data that was read differs")
    if disk.read_bytes()[512:1_000_512] != source.read_bytes():
        raise Failure("the target's file differs")
    target.kill()
    target = serve(lab, "-n", disk, "-r", "-b", "512")
    refused = lab.run(host(lab, "write", source), status=1)
    if "write protected" not in refused:
        raise Failure(f"a read-only namespace: {refused}")
    end(target)


CONFIG = """
# Two subsystems, of which the second one is for a named host.
[target]
listen = 127.0.0.1
referral = 192.0.2.7:4421
workers = 2

[subsystem nqn.2026-01.test:one]
serial = ONE
[namespace]
path = ram:1MiB
nsid = 7
read-only = yes

[subsystem {nqn}]
allow-host = nqn.2026-01.test:friend
[namespace]
path = {disk}
block-size = 512
"""


@case("nvme", "config")
def configured(lab):
    """Several subsystems and a referral from a file; a file with an error names its line."""
    disk, path = lab.dir / "disk", lab.dir / "target.ini"
    lab.system(f"truncate -s 1M '{disk}'")
    path.write_text(CONFIG.format(disk=disk, nqn=NQN))
    target = lab.start_server([program(lab), "serve", "-c", path], f"subsystem {NQN}")
    for friend, wanted in (("nqn.2026-01.test:friend", ["one", "disk", None]), ("nqn.2026-01.test:other", ["one", None])):
        found = json.loads(lab.run(host(lab, "discover", "-o", "json", "-q", friend)))["records"]
        names = [None if "referral" in r["subtype"] else r["subnqn"].split(":")[1] for r in found]
        if sorted(names, key=str) != sorted(wanted, key=str):
            raise Failure(f"{friend} discovers {found}")
        if not any(r["traddr"] == "192.0.2.7" and r["trsvcid"] == "4421" for r in found):
            raise Failure(f"no referral: {found}")
    shown = json.loads(lab.run(host(lab, "identify", "-n", "nqn.2026-01.test:one", "-N", "7", "-o", "json")))
    if (shown["sn"], shown["nsattr"]) != ("ONE", 1):
        raise Failure(f"identify: {shown}")
    lab.run(host(lab, "verify", "-b", "512", "-q", "nqn.2026-01.test:friend"))
    end(target)
    path.write_text("[target]\nworkers = many\n")
    refused = lab.run([program(lab), "serve", "-c", path], status=1)
    if "target.ini: line 2: " not in refused:
        raise Failure(f"a wrong file: {refused}")


@case("nvme", "add-remove")
def add_and_remove(lab):
    """Namespaces come and go while a host works; refused changes say why."""
    disk = lab.dir / "disk"
    lab.system(f"truncate -s 1M '{disk}'")
    target = serve(lab, "-n", "ram:16MiB")
    busy = lab.start(host(lab, "bench", "-T", "1", "--rwmixwrite", "50"))

    def change(verb, *options, status=0):
        return lab.run([program(lab), verb, *options], status=status)

    for nsid in (2, 3, 2):
        if change("add", disk) != f"namespace {nsid} added\n":
            raise Failure("another number of the namespace")
        lab.run(host(lab, "verify", "-N", str(nsid)))
        if nsid == 2:
            change("add", "-N", "9", "-r", "ram:1MiB")
            change("remove", "-N", "9")
        elif change("remove", "-N", "2") != "namespace 2 removed\n":
            raise Failure("it is not removed")
    listed = json.loads(lab.run(host(lab, "list", "-o", "json")))
    if [row["nsid"] for row in listed] != [1, 2, 3]:
        raise Failure(f"listed: {listed}")
    for verb, options, wanted in (
            ("add", ("-N", "3", "ram:1MiB"), "namespace 3 exists"), ("add", ("ram:1kB",), "less than 4 KiB"),
            ("add", ("/dev/null",), "neither a regular file"), ("add", (lab.dir / "none",), "No such file"),
            ("add", ("-s", "nqn.2026-01.test:none", "ram:1MiB"), "no subsystem"),
            ("remove", ("-N", "8"), "no namespace 8"), ("remove", ("-N", "1", "--control", "x"), "no target")):
        text = change(verb, *options, status=1)
        if wanted not in text:
            raise Failure(f"no '{wanted}' in: {text}")
    busy.expect(0, 30)
    end(target)


@case("nvme", "add-remove-only")
def add_and_remove_only(lab):
    """Without --subsystem, a change is for the only subsystem of a file, whatever its name."""
    path = lab.dir / "target.ini"
    path.write_text("[target]\nlisten = 127.0.0.1\n[subsystem nqn.2026-01.test:one]\n[namespace]\npath = ram:1MiB\n")
    target = lab.start_server([program(lab), "serve", "-c", path], "subsystem nqn.2026-01.test:one")
    text = lab.run([program(lab), "add", "ram:1MiB"]) + lab.run([program(lab), "remove", "-N", "2"])
    if text != "namespace 2 added\nnamespace 2 removed\n":
        raise Failure(text)
    end(target)


@case("nvme", "held")
def held(lab):
    """More connections than the target has receives for, without a Connect: other hosts connect, of the same
    address, too."""
    target = serve(lab, "-n", "ram:16MiB")
    holder = lab.start([lab.client("nvme_attacker"), "hold", "127.0.0.1", "4420", "300"])
    lab.wait_until(lambda: " held" in holder.output(), 30, "connections")
    lab.run(host(lab, "verify", "-i", "4", "-Q", "32"))
    holder.kill()
    end(target)


@case("nvme", "broken")
def broken(lab):
    """Hosts break the protocol while their connections are accepted."""
    target = serve(lab, "-n", "ram:16MiB")
    lab.run([lab.client("nvme_attacker"), "break", "127.0.0.1", "4420", "4000"])
    lab.run(host(lab, "verify"))
    end(target)


def reload(lab, target, path, text, wanted):
    """Has a target read its file again; it then writes `wanted`."""
    path.write_text(text)
    before = len(target.output())
    target.popen.send_signal(signal.SIGHUP)
    lab.wait_until(lambda: wanted in target.output()[before:] or not target.running(), 30, wanted)
    if not target.running():
        raise Failure(target.describe())
    return target.output()[before:]


def namespaces(lab, *options):
    return {(r["subnqn"].split(":")[1], r["nsid"]): r["nsze"] * r["block_size"]
            for r in json.loads(lab.run(host(lab, "list", "-o", "json", *options)))}


@case("nvme", "reload")
def reloaded(lab):
    """SIGHUP: subsystems, namespaces, allowed hosts and sizes become those of the file, while a host works on
    one that stays; a wrong file changes nothing; what needs a new start is named."""
    disk, path = lab.dir / "disk", lab.dir / "target.ini"
    lab.system(f"truncate -s 1M '{disk}'")
    start = "[target]\nlisten = 127.0.0.1\n"
    kept = f"[subsystem {NQN}]\n[namespace]\npath = ram:16MiB\n"
    one = "[subsystem nqn.2026-01.test:one]\n"
    text = start + kept + "[namespace]\npath = ram:1MiB\n" + one + f"[namespace]\npath = {disk}\n"
    path.write_text(text)
    target = lab.start_server([program(lab), "serve", "-c", path], "subsystem nqn.2026-01.test:one")
    lab.run([program(lab), "add", "-s", NQN, "-N", "9", "ram:1MiB"])
    busy = lab.start(host(lab, "bench", "-T", "3", "--rwmixwrite", "50"))
    waiting = lab.start(host(lab, "bench", "-T", "60", "-n", "nqn.2026-01.test:one"))
    # Of the second namespace the number changes. Added ones stay.
    lab.system(f"truncate -s 2M '{disk}'")
    grown = reload(lab, target, path, start + kept + "[namespace]\npath = ram:1MiB\nnsid = 7\n" + one +
                   f"[namespace]\npath = {disk}\n[subsystem nqn.2026-01.test:two]\nallow-host = nqn.2026-01.test:f\n"
                   "[namespace]\npath = ram:1MiB\n", "the configuration has been read again")
    if "namespace 1 of nqn.2026-01.test:one has grown" not in grown:
        raise Failure(grown)
    wanted = {("disk", 1): 16 << 20, ("disk", 7): 1 << 20, ("disk", 9): 1 << 20, ("one", 1): 2 << 20}
    if namespaces(lab) != wanted:
        raise Failure(f"{namespaces(lab)}, not {wanted}")
    wanted["two", 1] = 1 << 20
    if namespaces(lab, "-q", "nqn.2026-01.test:f") != wanted:
        raise Failure("the new subsystem is missing")
    # The host of a subsystem that disappears is disconnected.
    reload(lab, target, path, start + kept, "the configuration has been read again")
    waiting.wait(30)
    if "the connection is lost" not in waiting.output():
        raise Failure(waiting.describe())
    if namespaces(lab) != {("disk", 1): 16 << 20, ("disk", 9): 1 << 20}:
        raise Failure(f"{namespaces(lab)}")
    said = reload(lab, target, path, start + "workers = 3\n[subsytem x]\n", "is not read again")
    if "line 4" not in said or len(namespaces(lab)) != 2:
        raise Failure(said)
    said = reload(lab, target, path, start + "workers = 3\n" + kept, "the configuration has been read again")
    if "workers" not in said:
        raise Failure(said)
    busy.expect(0, 30)
    end(target)


@case("nvme", "grow")
def grow(lab):
    """SIGHUP without a file: a namespace gets the size that its file has now. A shorter file changes nothing."""
    disk = lab.dir / "disk"
    lab.system(f"truncate -s 1M '{disk}'")
    target = serve(lab, "-n", disk)
    for size, shown in (("2M", 2 << 20), ("1M", 2 << 20), ("3M", 3 << 20)):
        lab.system(f"truncate -s {size} '{disk}'")
        before = len(target.output())
        target.popen.send_signal(signal.SIGHUP)
        lab.wait_until(lambda: "read again" in target.output()[before:] or not target.running(), 30, "it is read again")
        if namespaces(lab) != {("disk", 1): shown}:
            raise Failure(f"{namespaces(lab)}, not {shown}")
    lab.run(host(lab, "verify"))
    end(target)


@case("nvme", "log")
def logged(lab):
    """The target writes who connects, leaves and is refused, and what fails, with time, level and port."""
    disk = lab.dir / "disk"
    lab.system(f"truncate -s 1M '{disk}'")
    target = serve(lab, "-n", disk, "--buffered", "-a", "nqn.2026-01.test:friend", listen="127.0.0.1:4433")

    def wait_for(level, *words):
        """Waits for a line of the log with these words."""
        line = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ adverb-nvme\[\d+/\d+\] " + level + ": .*" +
                          ".*".join(re.escape(w) for w in words))
        lab.wait_until(lambda: line.search(target.output()), 30, f"{level} {words} in {target.output()}")

    port = ("-s", "4433")
    friend = (*port, "-q", "nqn.2026-01.test:friend")
    lab.run(host(lab, "identify", *friend))
    wait_for("info", "port 4433: host nqn.2026-01.test:friend at 127.0.0.1", f"connected to {NQN}", "controller 1")
    wait_for("info", "port 4433: host nqn.2026-01.test:friend at 127.0.0.1", f"disconnected from {NQN}", "shut down")
    lab.run(host(lab, "identify", *port, "-q", "nqn.2026-01.test:other"), status=1)
    wait_for("warn", "port 4433: host nqn.2026-01.test:other at 127.0.0.1", f"refused by {NQN}", "not allowed")
    lab.run(host(lab, "identify", *friend, "-n", "nqn.2026-01.test:none"), status=1)
    wait_for("warn", "refused by nqn.2026-01.test:none", "no such subsystem")
    lost = lab.start(host(lab, "bench", "-T", "60", *friend))
    wait_for("info", "connected to", "controller 2")
    lost.kill()
    wait_for("info", "disconnected from", "controller 2", "the connection has ended")
    lab.system(f"truncate -s 4096 '{disk}'")
    lab.run(host(lab, "read", *friend), status=1)
    wait_for("error", "port 4433: host nqn.2026-01.test:friend", "Read failed", "namespace 1", "unrecovered read error")
    target.popen.terminate()
    if target.wait(30) != 0:
        raise Failure(target.describe())


@case("nvme", "stat")
def statistics(lab):
    """Commands, bytes and times by namespace and by host: as JSON and as rates."""
    target = serve(lab, "-n", "ram:16MiB", "-n", "ram:1MiB")
    for name, namespace, options in (("a", "1", ("-b", "64KiB")), ("b", "2", ("-b", "4KiB", "-Q", "4"))):
        lab.run(host(lab, "verify", "-N", namespace, "-q", f"nqn.2026-01.test:{name}", *options))
    stat = json.loads(lab.run([program(lab), "stat", "-o", "json"]))
    rows = {r["nsid"]: r for r in stat["namespaces"]}
    hosts = {r["host"].split(":")[1]: r for r in stat["hosts"]}
    for row, size, block in ((rows[1], 16 << 20, 65536), (hosts["a"], 16 << 20, 65536), (rows[2], 1 << 20, 4096),
                             (hosts["b"], 1 << 20, 4096)):
        done = [row[k] for k in ("reads", "writes", "read_bytes", "write_bytes", "errors")]
        if done != [size // block, size // block, size, size, 0] or not row["read_ns"] or not row["write_ns"]:
            raise Failure(f"{row}")
    if rows[1]["subsystem"] != NQN or rows[1]["bytes"] != 16 << 20 or hosts["a"]["controllers"] != 0:
        raise Failure(f"{stat}")
    busy = lab.start(host(lab, "bench", "-T", "60", "-N", "2", "-q", "nqn.2026-01.test:c", "--rwmixwrite", "50"))
    lab.wait_until(lambda: "nqn.2026-01.test:c" in lab.run([program(lab), "stat", "-o", "json"]), 30, "it works")
    text = lab.run([program(lab), "stat"])
    lines = [line.split() for line in text.splitlines()]
    working = [words for words in lines if words[:2] == [NQN, "2"] or words[:1] == ["nqn.2026-01.test:c"]]
    if len(working) != 2 or any(float(w) <= 0 for words in working for w in words[-7:-1]):
        raise Failure(text)
    shown = [line.split() for line in lab.run([lab.adverb, "top", "--nvme", "--once"], env={"COLUMNS": "140"}).splitlines()]
    if not all(any(words[:1] == ["4420"] and name in words and "0" not in words[-7:-1] for words in shown)
               for name in ("2", "nqn.2026-01.test:c")):
        raise Failure(f"{shown}")
    busy.kill()
    if "no target" not in lab.run([program(lab), "stat", "--control", "x"], status=1):
        raise Failure("a target that does not run")
    end(target)


@case("nvme", "exporter")
def exported(lab):
    """The exporter has the statistics of running targets, by namespace and by host; without one it has none."""
    if "adverb_nvme" in lab.run([lab.adverb, "exporter", "--once"]):
        raise Failure("metrics without a target")
    target = serve(lab, "-n", "ram:1MiB")
    other = lab.start_server([program(lab), "serve", "-l", "127.0.0.1:4421", "-n", "ram:1MiB", "--control", 'a"b'],
                             f"subsystem {NQN}")
    lab.run(host(lab, "verify", "-q", "nqn.2026-01.test:a"))
    text = lab.run([lab.adverb, "exporter", "--once"])
    namespace = f'target="4420",subsystem="{NQN}",nsid="1"'
    client = 'target="4420",host="nqn.2026-01.test:a"'
    for line in (f'adverb_nvme_namespace_size_bytes{{{namespace}}} {1 << 20}',
                 f'adverb_nvme_namespace_commands_total{{{namespace},command="read"}} 256',
                 f'adverb_nvme_namespace_bytes_total{{{namespace},command="write"}} {1 << 20}',
                 f'adverb_nvme_namespace_errors_total{{{namespace}}} 0',
                 f'adverb_nvme_host_controllers{{{client}}} 0',
                 f'adverb_nvme_host_commands_total{{{client},command="write"}} 256',
                 f'adverb_nvme_namespace_size_bytes{{target="a\\"b",subsystem="{NQN}",nsid="1"}} {1 << 20}'):
        if line not in text.splitlines():
            raise Failure(f"no {line} in:\n{text[text.find('# HELP adverb_nvme'):]}")
    if text.count("# TYPE adverb_nvme_host_commands_total counter") != 1:
        raise Failure(text)
    if not any(value > 0 for value in (float(line.split()[1]) for line in text.splitlines()
                                       if line.startswith("adverb_nvme_host_latency_seconds_total"))):
        raise Failure("no time")
    end(other)
    end(target)


@case("nvme-long", "refused")
def refused_hosts(lab):
    """A host that is not allowed, an unknown subsystem, a port without a target."""
    target = serve(lab, "-n", "ram:1MiB", "-a", "nqn.2026-01.test:friend")
    for words, wanted in (
            (host(lab, "identify"), "connect invalid host"),
            (host(lab, "identify", "-n", "nqn.2026-01.test:none"), "connect invalid parameters"),
            (host(lab, "identify", "-N", "7", "-q", "nqn.2026-01.test:friend"), "no namespace 7"),
            (host(lab, "identify", "-s", "4421"), "refused")):
        text = lab.run(words, status=1)
        if wanted not in text:
            raise Failure(f"no '{wanted}' in: {text}")
    lab.run(host(lab, "identify", "-q", "nqn.2026-01.test:friend"))
    end(target)


def wait_connected(lab):
    lab.wait_until(lambda: ", 0 connected," not in lab.system(f"'{lab.adverb}' status"), 30, "it connects")


@case("nvme-long", "killed-host")
def killed_host(lab):
    """Hosts end by SIGKILL in the middle of their commands; the target serves the next ones."""
    target = serve(lab, "-n", "ram:16MiB", "-w", "2")
    for size in ("4KiB", "16KiB", "4KiB", "64KiB", "16KiB"):
        killed = lab.start(host(lab, "bench", "-T", "60", "-i", "4", "-Q", "32", "-b", size, "--rwmixwrite", "50"))
        wait_connected(lab)
        lab.system("sleep 0.3")
        killed.kill()
    lab.run(host(lab, "verify", "-i", "2", "-Q", "32"))
    end(target)


@case("nvme-long", "killed-target")
def killed_target(lab):
    """The target ends by SIGKILL in the middle of commands: the host reports it. After a restart the
    acknowledged data is there."""
    disk, source, back = lab.dir / "disk", lab.dir / "source", lab.dir / "back"
    source.write_bytes(os.urandom(4 << 20))
    lab.system(f"truncate -s 16M '{disk}'")
    target = serve(lab, "-n", disk)
    lab.run(host(lab, "write", source))
    busy = lab.start(host(lab, "bench", "-T", "60", "--offset", "8MiB", "--rwmixwrite", "100"))
    wait_connected(lab)
    lab.system("sleep 0.3")
    target.kill()
    busy.wait(60)
    if busy.popen.returncode != 1 or "the connection is lost" not in busy.output():
        raise Failure(busy.describe())
    target = serve(lab, "-n", disk)
    lab.run(host(lab, "read", "--size", "4MiB", back))
    if back.read_bytes() != source.read_bytes():
        raise Failure("acknowledged data is lost")
    end(target)


@case("nvme", "reconnect")
def reconnect(lab):
    """The target ends by SIGKILL in the middle of a copy and starts again: the host reconnects, repeats
    what was not acknowledged, and the file is whole."""
    disk, source, pipe = lab.dir / "disk", lab.dir / "source", lab.dir / "pipe"
    source.write_bytes(os.urandom(4 << 20))
    os.mkfifo(pipe)
    lab.system(f"truncate -s 16M '{disk}'")
    target = serve(lab, "-n", disk)
    writer = lab.start(host(lab, "write", "-i", "2", "--ctrl-loss-tmo", "60", pipe))
    with open(pipe, "wb", buffering=0) as feed:
        feed.write(source.read_bytes()[:2 << 20])
        target.kill()
        target = serve(lab, "-n", disk)
        feed.write(source.read_bytes()[2 << 20:])
    writer.expect(0, 60)
    if "reconnecting" not in writer.output():
        raise Failure(f"the loss was not noticed: {writer.output()}")
    if disk.read_bytes()[:4 << 20] != source.read_bytes():
        raise Failure("data is lost")
    end(target)


def register_daemon_killed(name, victims):
    @case("nvme", f"{name}-killed", seconds=180)
    def run(lab):
        """adverbd is killed in the middle of a copy, or a part of it. The target listens again and the host
        reconnects, twice; the file is whole, and the target ends in order."""
        disk, source, pipe = lab.dir / "disk", lab.dir / "source", lab.dir / "pipe"
        source.write_bytes(os.urandom(3 << 20))
        os.mkfifo(pipe)
        lab.system(f"truncate -s 16M '{disk}'")
        target = serve(lab, "-n", disk, "-n", "ram:16MiB")
        # The memory of namespace 2 is registered with each device.
        lab.run(host(lab, "verify", "-N", "2"))
        writer = lab.start(host(lab, "write", "-i", "2", "--ctrl-loss-tmo", "60", pipe))
        with open(pipe, "wb", buffering=0) as feed:
            for part in range(3):
                feed.write(source.read_bytes()[part << 20:(part + 1) << 20])
                if part == 2:
                    break
                lab.system("kill -KILL " + " ".join(str(pid) for pid in daemons() if process_name(pid) in victims))
                lab.wait_until(lambda lines=part + 2: target.output().count("listening at") == lines, 60,
                               "the target listens again")
                lab.run(host(lab, "verify", "-N", "2", "-i", "4", "-Q", "16"))
        writer.expect(0, 60)
        if disk.read_bytes()[:3 << 20] != source.read_bytes():
            raise Failure("data is lost")
        end(target)


register_daemon_killed("daemon-worker", ("adverbd",))
register_daemon_killed("daemon", ("adverbd", "adverbd-keeper"))


@case("nvme-long", "no-daemon")
def no_daemon(lab):
    """A target that cannot listen again ends with a message."""
    target = serve(lab, "-n", "ram:16MiB")
    lab.system("ip link set lo down")
    lab.system("kill -KILL " + " ".join(map(str, daemons())))
    target.wait(90)
    if target.popen.returncode != 1 or "the target cannot go on: " not in target.output():
        raise Failure(target.describe())


SEND_WITH_INVALIDATE = 0x17


def invalidations(lab, *options):
    """Returns the responses that invalidate a key, while 16 commands have their data outside the capsule."""
    trace = Trace(lab, "-p", str(lab.target.pid), name=f"trace{len(options)}.pcapng")
    trace.captures(lab.target)
    lab.run(host(lab, "verify", "-i", "2", "-Q", "200", "-b", "8KiB", "--size", "64KiB", *options))
    return sum(p.opcode == SEND_WITH_INVALIDATE for p in check_icrc(trace.stop()))


@case("nvme", "invalidate")
def invalidate(lab):
    """Each command has a key of its own, which the target's response invalidates, if the host wants that."""
    lab.target = serve(lab, "-n", "ram:16MiB")
    found = invalidations(lab), invalidations(lab, "--invalidate")
    if found[0] != 0 or found[1] < 16:
        raise Failure(f"responses that invalidate a key: {found[0]}, with --invalidate {found[1]}")
    text = lab.run(host(lab, "verify", "--invalidate", "-Q", "200", "-b", "16KiB"))
    if "the controller takes 127 commands at once" not in text:
        raise Failure(text)
    end(lab.target)


@case("nvme", "acks-lost")
def lost_acks(lab):
    """A host goes on although the ACKs of its commands, or those of the responses, are lost for a while."""
    plan = "drop=15% op=ack tx"
    target = serve(lab, "-n", "ram:16MiB", faults=plan)
    for depth, options in (("1", []), ("3", []), ("8", ["--invalidate"]), ("32", [])):
        lab.run(host(lab, "bench", "-T", "1", "-Q", depth, *options), env={"ADVERB_FAULT": plan})
    lab.run(host(lab, "verify", "-Q", "8", "--size", "2MiB"), env={"ADVERB_FAULT": plan})
    end(target)


@case("nvme-long", "torn")
def torn(lab):
    """The end of data is visible before its begin, at the host as at the target: neither looks before the completion."""
    target = serve(lab, "-n", "ram:16MiB", faults="tear=200us queue=send")
    # After 2 MiB, data goes into the namespace itself.
    for options in (["-b", "4KiB"], ["-b", "64KiB", "--invalidate"], ["-b", "64KiB", "--seed", "3"]):
        lab.run(host(lab, "verify", "-i", "2", "-Q", "8", "--size", "1MiB", *options),
                env={"ADVERB_FAULT": "tear=200us queue=recv"})
    end(target)


@case("nvme-long", "queues")
def queues(lab):
    """64 I/O queues on several workers."""
    target = serve(lab, "-n", "ram:16MiB", "-w", "3")
    lab.run(host(lab, "verify", "-i", "64", "-Q", "4"), seconds=100)
    end(target)


@case("nvme-long", "connects", seconds=600)
def connects(lab):
    """1,000 associations, one after the other, leave nothing behind."""
    target = serve(lab, "-n", "ram:1MiB", "-w", "2")
    words = " ".join(f"'{w}'" for w in host(lab, "identify"))
    before = len(os.listdir(f"/proc/{target.pid}/fd"))
    lab.run(["sh", "-ec", f"for i in $(seq 1000); do {words} >/dev/null; done"], seconds=500)
    after = len(os.listdir(f"/proc/{target.pid}/fd"))
    if after > before + 20:
        raise Failure(f"{before} descriptors before, {after} afterwards")
    end(target)


@case("nvme-long", "killed-anywhere", seconds=600)
def killed_anywhere(lab):
    """SIGKILL at times that are drawn by lot, to the host or to the target: the host that lives goes on,
    and its data is right."""
    lot = random.Random(7)
    disk = lab.dir / "disk"
    lab.system(f"truncate -s 64M '{disk}'")
    target = serve(lab, "-n", disk, "-w", "2", "--buffered")
    losses = 0
    for turn in range(30):
        other = lab.start(host(lab, "bench", "-T", "60", "-i", "4", "-Q", "16", "--size", "16MiB",
                               "--rwmixwrite", "50", "--ctrl-loss-tmo", "60"))
        checked = lab.start(host(lab, "verify", "-i", "4", "-Q", "16", "--offset", "16MiB", "--seed", str(turn),
                                 "--ctrl-loss-tmo", "60", *(["--invalidate"] if turn % 4 < 2 else [])))
        lab.system(f"sleep {lot.uniform(0, 1):.3f}")
        if turn % 2:
            target.kill()
            target = serve(lab, "-n", disk, "-w", "2", "--buffered")
        other.kill()
        # A host whose first connection fails ends at once.
        checked.wait(120)
        lost = "reconnecting" in checked.output()
        if checked.popen.returncode != 0 and (lost or turn % 2 == 0):
            raise Failure(checked.describe())
        losses += lost
    if losses == 0:
        raise Failure("no connection was lost")
    end(target)


register_family("ipv4", "nvme")
register_family("ipv6", "nvme-long")
