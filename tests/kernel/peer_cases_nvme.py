# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NVMe over Fabrics: the kernel's host against the target of `adverb nvme serve`."""

import contextlib
import os
import pathlib
import signal

from harness import Failure, Skip, case, daemons, process_name

NQN = "nqn.2026-01.org.adverb:disk"
HOST_ID = "11111111-2222-4333-8444-555555555555"
HOST_NQN = f"nqn.2014-08.org.nvmexpress:uuid:{HOST_ID}"
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
            f"hostid={HOST_ID}{options}")


@contextlib.contextmanager
def connected(lab, family, options=""):
    """The kernel is connected, and DEVICE is there."""
    lab.guest.run(f"echo 'nqn={NQN},{fabrics(lab, family, options)}' > /dev/nvme-fabrics")
    try:
        lab.guest.wait_until(f"test -b {DEVICE}", CONNECT_SECONDS, DEVICE)
        yield
    finally:
        lab.guest.run("for c in /sys/class/nvme/nvme*; do [ ! -e $c ] || echo 1 > $c/delete_controller; done")
        lab.guest.wait_until(f"! test -e {DEVICE}", CONNECT_SECONDS, f"no {DEVICE}")


def end(target):
    target.popen.terminate()
    target.expect(0, 60)


def register_discover(family):
    @case(f"nvme-ipv{family}", "discover")
    def discover(lab):
        target = serve(lab, family)
        address = lab.adverb_side.address[family]
        text = lab.guest.run(f"nvme discover -t rdma -a {address} -s {PORT} -q {HOST_NQN} -I {HOST_ID}")
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


def fio(lab, target, size, *options, seconds=300):
    """Random reads and writes with checksums at depth 32, then all of it read again."""
    words = ["fio", "--name=verify", f"--filename={target}", f"--size={size}", "--direct=1", "--ioengine=libaio",
             "--iodepth=32", "--rw=randrw", "--bsrange=4k-64k", "--bs_unaligned=0", "--verify=crc32c",
             "--verify_fatal=1", "--randseed=7", "--output=/tmp/fio", *options]
    text = lab.guest.run(f"{' '.join(words)} && cat /tmp/fio", seconds=seconds)
    if "err= 0" not in text or "WRITE:" not in text or "READ:" not in text:
        raise Failure(f"fio:\n{text}")


def register_fio(family):
    @case(f"nvme-ipv{family}", "fio")
    def whole(lab):
        target = serve(lab, family)
        with connected(lab, family):
            fio(lab, DEVICE, "4m")
        end(target)

    @case(f"nvme-ipv{family}", "fio-lossy")
    def lossy(lab):
        """One packet in a thousand is lost, in each direction."""
        lab.lose_some()
        target = serve(lab, family)
        with connected(lab, family):
            fio(lab, DEVICE, "4m")
        end(target)


@case("nvme-ipv4", "queues")
def queues(lab):
    """Eight I/O queues: half of them for writes only."""
    half = 4
    if lab.guest.cpus < half:
        raise Skip(f"needs --cpus {half}: the kernel makes no more queues of a kind than it has CPUs")
    target = serve(lab, "4", "ram:64MiB", ("--workers", "2"))
    with connected(lab, "4", f",nr_io_queues={half},nr_write_queues={half}"):
        made = lab.guest.run("cat /sys/class/nvme/nvme*/queue_count").strip()
        if made != str(1 + 2 * half):
            raise Failure(f"queues, with that for administration: {made}")
        fio(lab, DEVICE, "1m", f"--numjobs={half}", "--offset_increment=1m")
    end(target)


def allocated(path):
    """Returns the bytes that a file takes."""
    return os.stat(path).st_blocks * 512


def demand_freed(path, before, least):
    freed = before - allocated(path)
    if freed < least:
        raise Failure(f"of {before} bytes of the target's file, {freed} were freed, not {least}")


@case("nvme-ipv4", "trim")
def trim(lab):
    """blkdiscard succeeds, the blocks read as zeros, and the file of the target gets smaller."""
    path = lab.dir / "disk"
    lab.system(f"truncate -s 16M '{path}'")
    target = serve(lab, "4", path)
    with connected(lab, "4"):
        lab.guest.run(f"head -c 8388608 /dev/urandom > /tmp/data && dd if=/tmp/data of={DEVICE} bs=1M oflag=direct conv=fsync",
                      seconds=300)
        used = allocated(path)
        lab.guest.run(f"blkdiscard -o 1048576 -l 4194304 {DEVICE}")
        demand_freed(path, used, 4 << 20)
        lab.guest.run(f"dd if={DEVICE} of=/tmp/back bs=1M iflag=direct count=8 && "
                      "dd if=/dev/zero of=/tmp/data bs=1M seek=1 count=4 conv=notrunc && cmp /tmp/back /tmp/data",
                      seconds=300)
    end(target)


@case("nvme-ipv4", "changes")
def changes(lab):
    """The log of asymmetric namespace access, Copy, and a namespace that grows while the kernel uses it."""
    path = lab.dir / "disk"
    lab.system(f"truncate -s 16M '{path}'")
    target = serve(lab, "4", path)
    with connected(lab, "4"):
        text = lab.guest.run("nvme ana-log /dev/nvme0")
        if "optimized" not in text:
            raise Failure(f"nvme ana-log:\n{text}")
        lab.guest.run(f"head -c 65536 /dev/urandom > /tmp/data && dd if=/tmp/data of={DEVICE} bs=65536 seek=4 oflag=direct && "
                      f"nvme copy {DEVICE} --sdlba=128 --slbs=64 --blocks=15 && "
                      f"dd if={DEVICE} of=/tmp/back bs=65536 skip=8 count=1 iflag=direct && cmp /tmp/back /tmp/data")
        lab.system(f"truncate -s 32M '{path}'")
        target.popen.send_signal(signal.SIGHUP)
        lab.guest.wait_until(f"test $(cat /sys/block/{os.path.basename(DEVICE)}/size) = 65536", CONNECT_SECONDS, "it grows")
        lab.guest.run(f"dd if=/tmp/data of={DEVICE} bs=65536 seek=511 oflag=direct")
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
        fio(lab, "/tmp/mnt/fio", "2m")
        lab.guest.run("cp /bin/busybox /tmp/mnt/ && rm /tmp/mnt/fio && sync")
        used = allocated(path)
        # fstrim ends well even if the device refuses each range.
        lab.guest.run("fstrim /tmp/mnt", seconds=300)
        demand_freed(path, used, 1 << 20)
        lab.guest.run("umount /tmp/mnt", seconds=300)
        text = lab.guest.run(f"nvme disconnect -n {NQN}")
        if "disconnected 1 controller" not in text:
            raise Failure(f"nvme disconnect:\n{text}")
    with connected(lab, "4"):
        lab.guest.run(f"mount -t ext4 {DEVICE} /tmp/mnt && cmp /bin/busybox /tmp/mnt/busybox && umount /tmp/mnt",
                      seconds=300)
    end(target)
    if lab.system(f"file -b '{path}'").find("ext4") < 0:
        raise Failure("no ext4 in the file of the target")


def lines_of_page():
    """Returns the commands of docs/nvme.md's first section: of this machine, and of the host."""
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/nvme.md").read_text()
    section = page.split("\n## ")[1]
    lines = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    return lines[:2], lines[2:5]


@case("nvme-ipv4", "page")
def page_lines(lab):
    """The five lines of the page, as they are there: from a file to a mounted disk."""
    (make, serves), (modprobe, connect, use) = lines_of_page()
    if not modprobe.startswith("modprobe ") or not serves.startswith("adverb "):
        raise Failure(f"not the expected lines: {serves!r}, {modprobe!r}")
    lab.system(f"cd '{lab.dir}' && {make}")
    target = lab.start_server([lab.adverb, *serves.split()[1:]], f"subsystem {NQN}", adverb=False)
    lab.guest.run(f"mkdir -p /mnt; {connect.replace('ADDRESS', lab.adverb_side.address['4'])}")
    try:
        lab.guest.wait_until(f"test -b {DEVICE}", CONNECT_SECONDS, DEVICE)
        lab.guest.run(f"{use} && cp /bin/busybox /mnt && sync && cmp /bin/busybox /mnt/busybox && umount /mnt",
                      seconds=300)
    finally:
        lab.guest.run(f"nvme disconnect -n {NQN}", status=None)
    end(target)
    if "ext4" not in lab.system(f"file -b '{lab.dir}/disk.img'"):
        raise Failure("no ext4 in the file of the target")


BLOCK = 4096
BLOCKS = 160
# Writes one block after the other, each with fsync, and notes those that the device has acknowledged.
WRITER = f"""
head -c {BLOCK - 8} /dev/zero > /tmp/zeros
i=0
while [ $i -lt {BLOCKS} ]; do
  {{ printf '%08d' $((i + 1)); cat /tmp/zeros; }} > /tmp/block
  dd if=/tmp/block of={DEVICE} bs={BLOCK} seek=$i oflag=direct conv=notrunc,fsync 2>/dev/null || exit 1
  i=$((i + 1))
  echo $i > /tmp/count
done
"""


def acknowledged(lab):
    return int(lab.guest.run("cat /tmp/count 2>/dev/null || echo 0").strip() or 0)


def demand_blocks(path, count):
    """Fails unless the file of the target has what the writer wrote into its first `count` blocks."""
    with open(path, "rb") as disk:
        for number in range(1, count + 1):
            block = disk.read(BLOCK)
            if block[:8] != b"%08d" % number or any(block[8:]):
                raise Failure(f"{count} blocks were acknowledged, block {number} has {block[:8]!r}")


def interrupt_writes(lab, family, interrupt):
    """Calls interrupt(target, path, part) in the middle of writes, for part 1 and 2; it returns the target that
    serves then. What was acknowledged is in the target's file, and the kernel connects again by its own timer and
    continues."""
    lab.harmless_in_log = ("nvme",)
    path = lab.dir / "disk"
    lab.system(f"truncate -s 16M '{path}'")
    target = serve(lab, family, path)
    with connected(lab, family, ",reconnect_delay=2"):
        lab.guest.run("rm -f /tmp/count")
        writer = lab.start_in_guest(["sh", "-c", WRITER])
        for part in (1, 2):
            lab.wait_until(lambda least=BLOCKS * part // 4: acknowledged(lab) >= least, 120, "writes")
            target = interrupt(target, path, part)
            if not writer.running():
                raise Failure(f"a write failed, or all ended before the kill:\n{writer.describe()}")
        writer.expect(0, 200)
        lab.guest.run(f"dd if={DEVICE} bs={BLOCK} count={BLOCKS} iflag=direct of=/tmp/back")
        back = lab.guest.run(f"i=0; while [ $i -lt {BLOCKS} ]; do dd if=/tmp/back bs={BLOCK} skip=$i count=1 "
                             "2>/dev/null | head -c 8; echo; i=$((i + 1)); done").split()
        if back != [f"{number:08d}" for number in range(1, BLOCKS + 1)]:
            raise Failure(f"read back: {back}")
    demand_blocks(path, BLOCKS)
    end(target)


def register_killed(family):
    @case(f"nvme-ipv{family}", "killed-target")
    def killed(lab):
        """The target is killed twice in the middle of writes."""
        def kill_target(target, path, _part):
            target.kill()
            demand_blocks(path, acknowledged(lab))
            lab.system("sleep 3")
            return serve(lab, family, path)

        interrupt_writes(lab, family, kill_target)

    @case(f"nvme-ipv{family}", "killed-daemon")
    def killed_daemon(lab):
        """The worker of adverbd is killed in the middle of writes, then adverbd as a whole: the target listens
        again."""
        def kill_daemon(target, path, part):
            victims = ("adverbd",) if part == 1 else ("adverbd", "adverbd-keeper")
            lab.system("kill -KILL " + " ".join(str(pid) for pid in daemons() if process_name(pid) in victims))
            lab.wait_until(lambda: target.output().count("listening at") == part + 1, 60, "the target listens again")
            demand_blocks(path, acknowledged(lab))
            return target

        interrupt_writes(lab, family, kill_daemon)


for version in ("4", "6"):
    register_discover(version)
    register_data(version)
    register_fio(version)
    register_killed(version)
