# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the commands of pages run: folders, addresses and interfaces, by the words of scripts/blocks.py."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys


ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COPIED = ("examples", "scenarios")  # commands may write there
LINKED = ("bench", "data", "docs", "packaging", "scripts", "src", "tests", "meson.build", "README.md")
ETH0 = "ip link add eth0 type veth peer name far && ip addr add 10.9.0.1/24 dev eth0 && ip link set eth0 up && ip link set far up"
# Ports of MPI programs: as root, and with more ranks than processors.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
# Words of pages, in blocks that say so.
STANDS_FOR = {"ADDRESS": "127.0.0.1", "SERVER": "127.0.0.1", "NQN": "nqn.2026-01.org.adverb:disk"}
# Sends the frame of a capture again and again.
SENDER = """
import socket, sys, time
frame = bytearray(open(sys.argv[1], "rb").read()[24 + 16:])
frame[6:12] = bytes.fromhex("0c42a1000001")  # the address that the page shows
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("far", 0))
while True:
    s.send(frame)
    time.sleep(0.2)
"""


def prepare(lab, directory):
    """Makes the folder `source`, in which commands run, and the network of all pages."""
    source = directory / "source"
    source.mkdir()
    for name in COPIED:
        shutil.copytree(ROOT / name, source / name)
    for name in LINKED:
        (source / name).symlink_to(ROOT / name)
    (source / "build").symlink_to(lab.build)
    lab.system("ip link set lo up; mount -t tmpfs none /run")
    os.environ.update(MPI)


def copy_of_source(directory):
    """Makes a copy of the files that git tracks, in which commands build. What they install goes into a folder."""
    place = directory / "copy"
    if not place.exists():
        place.mkdir()
        subprocess.run(f"git -c safe.directory={ROOT} -C {ROOT} ls-files -z | tar -C {ROOT} --null -T - -cf - | tar -C {place} -xf -",
                       shell=True, check=True)
    os.environ["DESTDIR"] = str(directory / "installed")
    return place


@contextlib.contextmanager
def sender_of_lldp(lab, directory):
    """The other end of eth0 sends the frame of a port that differs from scenarios/incast.ini in priority 3."""
    capture, scenario = directory / "far.pcap", directory / "far.ini"
    text = (ROOT / "scenarios" / "incast.ini").read_text()
    scenario.write_text(text.replace("[priority 3]", "[priority 3]\nlossless = no"))
    lab.system(f"{lab.adverb} plan dcb --write {capture} {scenario} >/dev/null")
    sender = subprocess.Popen([sys.executable, "-c", SENDER, str(capture)])
    try:
        yield
    finally:
        sender.kill()
        sender.wait()


def replaced(command, words):
    """Returns a command in which names of a page that stand for something are what they stand for."""
    if not {"nvme", "server"} & set(words):
        return command
    for name, value in STANDS_FOR.items():
        command = command.replace(name, value)
    return command


@contextlib.contextmanager
def target(lab, directory):
    """`adverb nvme serve` with a disk."""
    lab.system(f"truncate -s 64M {directory}/source/disk.img")
    server = lab.start_server([lab.adverb, "nvme", "serve", "--namespace", f"{directory}/source/disk.img"], "4420", adverb=False)
    try:
        yield
    finally:
        server.kill()


@contextlib.contextmanager
def fabric(lab, directory):
    """The emulated fabric whose file the page has."""
    lab.system(f"cd {directory}/source && {lab.adverb} fabric up --speed-factor 1/100 dumbbell.ini")
    try:
        yield
    finally:
        lab.system(f"{lab.adverb} fabric down")


WITH = {"lldp": sender_of_lldp, "nvme": target, "fabric": fabric}


@contextlib.contextmanager
def of(lab, directory, words):
    """Gives a block what its words say. Yields the folder in which it runs."""
    have = lab.system("ip -br addr")
    if "peer" in words and "192.0.2.7" not in have:
        lab.system("ip addr add 192.0.2.7/24 dev lo")
    if {"eth0", "lldp"} & set(words) and "eth0" not in have:
        lab.system(ETH0)
    with contextlib.ExitStack() as stack:
        for word in words:
            if word in WITH:
                stack.enter_context(WITH[word](lab, directory))
        yield copy_of_source(directory) if "build" in words else directory / "source"
