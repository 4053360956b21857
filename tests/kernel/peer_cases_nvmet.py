# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NVMe over Fabrics: the host of `adverb nvme` against the kernel's target, nvmet-rdma."""

import contextlib
import json
import os

from harness import Failure, case

NQN = "nqn.2026-01.test:kernel"
PORT = "4420"
CONFIG = "/sys/kernel/config/nvmet"
DISK = "/tmp/nvmet-disk"
MEBIBYTES = 16
# nvmet and rdma_rxe tell of every connection and its end
TALK = ("nvmet",)

SUBSYSTEM = f"""
[ -d {CONFIG} ] || mount -t configfs none /sys/kernel/config
dd if=/dev/zero of={DISK} bs=1M count={MEBIBYTES} 2>/dev/null
cd {CONFIG}
mkdir subsystems/{NQN} subsystems/{NQN}/namespaces/1
echo 1 > subsystems/{NQN}/attr_allow_any_host
cd subsystems/{NQN}/namespaces/1
printf %s {DISK} > device_path
echo 1 > buffered_io
echo 1 > enable
"""

REMOVE = f"""
rm -f {CONFIG}/ports/1/subsystems/{NQN}
[ ! -d {CONFIG}/ports/1 ] || rmdir {CONFIG}/ports/1
rmdir {CONFIG}/subsystems/{NQN}/namespaces/1 {CONFIG}/subsystems/{NQN}
rm {DISK}
"""


def add_port(lab, family):
    lab.guest.run(f"set -e; cd {CONFIG}; mkdir ports/1; cd ports/1; echo rdma > addr_trtype; "
                  f"echo ipv{family} > addr_adrfam; echo {lab.kernel_side.address[family]} > addr_traddr; "
                  f"echo {PORT} > addr_trsvcid; ln -s {CONFIG}/subsystems/{NQN} subsystems/{NQN}")


def remove_port(lab):
    lab.guest.run(f"rm {CONFIG}/ports/1/subsystems/{NQN} && rmdir {CONFIG}/ports/1")


@contextlib.contextmanager
def target(lab, family):
    """The kernel serves a file."""
    lab.harmless_in_log = TALK
    lab.guest.run("set -e" + SUBSYSTEM)
    try:
        add_port(lab, family)
        yield
    finally:
        lab.guest.run(REMOVE, status=None)


def host(lab, family, command, *options):
    """Returns the words of a command of the host."""
    named = [] if command in ("discover", "list") else ["-n", NQN]
    return [os.path.join(lab.build, "adverb-nvme"), command, "-a", lab.kernel_side.address[family], *named, *options]


def demand_file(lab, data, offset=0):
    """Fails unless the kernel's file has this data."""
    path = lab.dir / "wanted"
    path.write_bytes(data)
    wanted = lab.system(f"md5sum < '{path}'").split()[0]
    count = len(data) >> 12
    found = lab.guest.run(f"dd if={DISK} bs=4096 skip={offset >> 12} count={count} 2>/dev/null | md5sum").split()[0]
    if found != wanted:
        raise Failure(f"the file of the target has md5 {found}, not {wanted}")


def register_family(family):
    @case(f"nvmet-ipv{family}", "commands")
    def commands(lab):
        """discover, list, identify, write, read, verify, bench."""
        address = lab.kernel_side.address[family]
        source, back = lab.dir / "source", lab.dir / "back"
        source.write_bytes(os.urandom(1 << 20))
        with target(lab, family):
            found = json.loads(lab.run(host(lab, family, "discover", "-o", "json")))["records"]
            if (NQN, address, PORT) not in [(r["subnqn"], r["traddr"], r["trsvcid"]) for r in found]:
                raise Failure(f"discovered: {found}")
            listed = json.loads(lab.run(host(lab, family, "list", "-o", "json")))
            if [row["nsid"] for row in listed] != [1]:
                raise Failure(f"listed: {listed}")
            text = lab.run(host(lab, family, "identify"))
            if "Linux" not in text:
                raise Failure(f"no 'Linux' in:\n{text}")
            lab.run(host(lab, family, "write", "--offset", "4MiB", source), seconds=120)
            demand_file(lab, source.read_bytes(), 4 << 20)
            lab.run(host(lab, family, "read", "--offset", "4MiB", "--size", "1MiB", back), seconds=120)
            if back.read_bytes() != source.read_bytes():
                raise Failure("the data that was read differs")
            for options in (["-i", "8", "-Q", "16", "--size", "4MiB"], ["-b", "128KiB", "-Q", "8"],
                            ["-b", "8KiB", "-Q", "16", "--size", "4MiB", "--invalidate"]):
                lab.run(host(lab, family, "verify", *options), seconds=200)
            bench = json.loads(lab.run(host(lab, family, "bench", "-T", "2", "-Q", "32", "-o", "json")))
            if not bench:
                raise Failure(f"bench: {bench}")

    @case(f"nvmet-ipv{family}", "lossy")
    def lossy(lab):
        """One packet in a thousand is lost, in each direction."""
        lab.lose_some()
        with target(lab, family):
            for options in (["-i", "4", "-Q", "32"], ["-b", "64KiB", "-Q", "4", "--size", "4MiB"]):
                lab.run(host(lab, family, "verify", *options), seconds=300)

    @case(f"nvmet-ipv{family}", "port-removed")
    def port_removed(lab):
        """The kernel's port goes in the middle of writes, and comes back: the command reports the loss, and the
        data that was acknowledged before is there."""
        source, back = lab.dir / "source", lab.dir / "back"
        source.write_bytes(os.urandom(1 << 20))
        with target(lab, family):
            lab.run(host(lab, family, "write", source), seconds=120)
            busy = lab.start(host(lab, family, "bench", "-T", "100", "-Q", "2", "--offset", "8MiB",
                                  "--rwmixwrite", "100"))
            lab.wait_until(lambda: ", 0 ids," not in lab.adverb_status(), 60, "it connects")
            lab.system("sleep 2")
            remove_port(lab)
            busy.wait(100)
            if busy.popen.returncode != 1 or "the connection is lost" not in busy.output():
                raise Failure(busy.describe())
            refused = lab.run(host(lab, family, "identify"), status=1)
            if "refused" not in refused:
                raise Failure(f"without a port: {refused}")
            add_port(lab, family)
            lab.run(host(lab, family, "read", "--size", "1MiB", back), seconds=120)
            if back.read_bytes() != source.read_bytes():
                raise Failure("acknowledged data is lost")
            lab.run(host(lab, family, "verify", "--size", "1MiB"), seconds=120)


for version in ("4", "6"):
    register_family(version)
