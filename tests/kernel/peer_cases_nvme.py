# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NVMe over Fabrics: the kernel's host against the target of `adverb nvme serve`."""

import contextlib
import os

from harness import Failure, case

NQN = "nqn.2026-01.org.adverb:disk"
HOST_NQN = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-4333-8444-555555555555"
DEVICE = "/dev/nvme0n1"
PORT = 4420
CONNECT_SECONDS = 60


def brackets(address):
    return f"[{address}]" if ":" in address else address


def serve(lab, family, namespace="ram:64MiB", options=()):
    """Starts the target, and returns it when it listens."""
    program = os.path.join(lab.build, "adverb-nvme")
    address = brackets(lab.adverb_side.address[family])
    return lab.start_server([program, "serve", "-l", f"{address}:{PORT}", "-n", namespace, *options],
                            f"subsystem {NQN}")


def fabrics(lab, family, options=""):
    return (f"transport=rdma,traddr={lab.adverb_side.address[family]},trsvcid={PORT},hostnqn={HOST_NQN},"
            f"hostid=11111111-2222-4333-8444-555555555555{options}")


@contextlib.contextmanager
def connected(lab, family, options=""):
    """The kernel is connected, and DEVICE is there."""
    lab.guest.run(f"echo 'nqn={NQN},{fabrics(lab, family, options)}' > /dev/nvme-fabrics")
    try:
        lab.guest.wait_until(f"test -b {DEVICE}", CONNECT_SECONDS, DEVICE)
        yield
    finally:
        lab.guest.run("for c in /sys/class/nvme/nvme*; do echo 1 > $c/delete_controller; done")
        lab.guest.wait_until(f"! test -e {DEVICE}", CONNECT_SECONDS, f"no {DEVICE}")


def end(target):
    target.popen.terminate()
    target.expect(0, 60)


def register_discover(family):
    @case(f"nvme-ipv{family}", "discover")
    def discover(lab):
        target = serve(lab, family)
        address = lab.adverb_side.address[family]
        text = lab.guest.run(f"nvme discover -t rdma -a {address} -s {PORT} -q {HOST_NQN}")
        for wanted in (f"subnqn:  {NQN}", f"traddr:  {address}", f"trsvcid: {PORT}"):
            if wanted not in text:
                raise Failure(f"no '{wanted}' in:\n{text}")
        end(target)


def register_data(family):
    @case(f"nvme-ipv{family}", "data")
    def data(lab):
        """Writes of several sizes come back as they were, also after a new connection."""
        target = serve(lab, family)
        sizes = (4096, 65536, 1 << 20)
        with connected(lab, family, ",nr_io_queues=2"):
            for number, size in enumerate(sizes):
                lab.guest.run(f"head -c {size} /dev/urandom > /tmp/data{number}; "
                              f"dd if=/tmp/data{number} of={DEVICE} bs={size} seek={number + 1} oflag=direct")
        with connected(lab, family):
            for number, size in enumerate(sizes):
                lab.guest.run(f"dd if={DEVICE} of=/tmp/back bs={size} skip={number + 1} count=1 && "
                              f"cmp /tmp/back /tmp/data{number}")
            text = lab.guest.run(f"nvme id-ctrl {DEVICE} && nvme smart-log {DEVICE} && nvme list")
            if "Adverb" not in text:
                raise Failure(f"no 'Adverb' in:\n{text}")
        end(target)


@case("nvme-ipv4", "file-system")
def file_system(lab):
    """A file system on a file of this machine: make, mount, write, trim, unmount, mount again."""
    path = lab.dir / "disk"
    lab.system(f"truncate -s 128M '{path}'")
    target = serve(lab, "4", path)
    with connected(lab, "4"):
        lab.guest.run(f"mkfs.ext4 -q -O ^metadata_csum {DEVICE} && mkdir -p /tmp/mnt && mount -t ext4 {DEVICE} /tmp/mnt",
                      seconds=300)
        lab.guest.run("cp /bin/busybox /tmp/mnt/ && sync && fstrim /tmp/mnt && umount /tmp/mnt", seconds=300)
    with connected(lab, "4"):
        lab.guest.run(f"mount -t ext4 {DEVICE} /tmp/mnt && cmp /bin/busybox /tmp/mnt/busybox && umount /tmp/mnt",
                      seconds=300)
    end(target)
    if lab.system(f"file -b '{path}'").find("ext4") < 0:
        raise Failure("no ext4 in the file of the target")


for version in ("4", "6"):
    register_discover(version)
    register_data(version)
