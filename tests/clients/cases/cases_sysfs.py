# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The device in /sys/class/infiniband and /dev/infiniband."""

import fcntl
import os
import pathlib
import re
import shlex
import shutil
import signal
import time

import reports
from cases_device import NOBODY, as_nobody
from harness import ROCE, Failure, Skip, case, daemons, need_tool, own_mounts

CLASS = "/sys/class/infiniband"
IBDEV = f"{CLASS}/adverb0"
PORT = f"{IBDEV}/ports/1"
# The type of the GIDs, and what the version of RoCE adds to the number in the name of a folder (src/runtime/identity/sysfs_root.c).
TYPE = "IB/RoCE v1" if ROCE == "v1" else "RoCE v2"
FOLDER_OF_VERSION = 1 << 52 if ROCE == "v1" else 0
WALK = """
import os
for top, folders, files in os.walk("/sys/devices/adverb"):
    for name in sorted(folders + files):
        print(os.path.join(top, name))
"""


def same(what, one, two):
    if one != two:
        raise Failure(f"{what} differs:\n{one}\nand\n{two}")


def read(lab, *paths):
    return lab.run(["cat", *paths]).splitlines()


def counters(lab):
    """Returns {counter: value} of the port."""
    text = lab.run(["sh", "-c", f"grep . {PORT}/counters/* {PORT}/hw_counters/*"])
    return {pathlib.Path(line.split(":")[0]).name: int(line.split(":")[1])
            for line in text.splitlines()}


def keep_daemon(lab):
    """Keeps the daemon running without clients: its counters end with it."""
    daemon = lab.start([lab.build / "adverbd", "--foreground", "--linger", "300"], adverb=False)
    lab.wait_until(lambda: b"adverbd" in pathlib.Path("/proc/net/unix").read_bytes(), 20,
                   "adverbd listens")
    return daemon


@case("sysfs", "tools-agree")
def tools_agree(lab):
    """find, ls and Python see the same files."""
    found = sorted(lab.run(["find", "/sys/devices/adverb", "-mindepth", "1"]).splitlines())
    walked = sorted(lab.run(["/usr/bin/python3", "-c", WALK]).splitlines())
    same("find and os.walk", found, walked)
    listed = []
    for line in lab.run(["ls", "-1R", "/sys/devices/adverb"]).splitlines():
        if line.endswith(":"):
            folder = line[:-1]
        elif line:
            listed.append(f"{folder}/{line}")
    same("find and ls -R", found, sorted(listed))
    if len(found) < 60:
        raise Failure(f"only {len(found)} files:\n{found}")
    long = lab.run(["ls", "-l", CLASS, "/sys/class/infiniband_verbs", "/dev/infiniband"])
    for wanted in (r"^l.* adverb0 -> ../../devices/adverb/infiniband/adverb0$",
                   r"^l.* uverbs0 -> ../../devices/adverb/infiniband_verbs/uverbs0$",
                   r"^crw-rw-rw-.* 231, 192 .* uverbs0$", r"^crw-rw-rw-.* rdma_cm$",
                   r"^-r--r--r--.* abi_version$"):
        if not re.search(wanted, long, re.M):
            raise Failure(f"no line like '{wanted}':\n{long}")


@case("sysfs", "shell")
def shell(lab):
    """In the folders of the device, links and '..' resolve as in sysfs."""
    text = lab.run(["bash", "-ec", f"""
        cd {IBDEV}; pwd; pwd -P; /bin/pwd -P
        cat node_type; cat ../adverb0/ports/1/link_layer; cd -P ports/1; cat ../../device/device
        cat ../../../../../virtual/net/lo/address; cd ../../../../..; pwd
        cd {CLASS}; ls; cat ../net/lo/address; echo */node_t*; test -x .; test ! -w adverb0/fw_ver
        readlink -f adverb0/device/net/lo; readlink -f /dev/infiniband/uverbs0"""])
    same("output", text.splitlines(), [
        IBDEV, "/sys/devices/adverb/infiniband/adverb0", "/sys/devices/adverb/infiniband/adverb0",
        "1: CA", "Ethernet", "0xad01", "00:00:00:00:00:00", "/sys/devices", "adverb0",
        "00:00:00:00:00:00", "adverb0/node_type", "/sys/devices/virtual/net/lo",
        "/dev/infiniband/uverbs0"])


@case("sysfs", "agrees-with-verbs")
def agrees_with_verbs(lab):
    lab.system("ip addr add 192.0.2.5/32 dev lo")
    text = lab.run(["ibv_devinfo", "-v"])
    for name, path in {"fw_ver": "fw_ver", "node_guid": "node_guid", "board_id": "board_id",
                       "sys_image_guid": "sys_image_guid", "link_layer": "ports/1/link_layer"
                       }.items():
        same(name, reports.port_attribute(text, name), read(lab, f"{IBDEV}/{path}")[0])
    same("state", reports.port_attribute(text, "state"), "PORT_ACTIVE (4)")
    same("state", read(lab, f"{PORT}/state", f"{PORT}/phys_state"), ["4: ACTIVE", "5: LinkUp"])
    gids = read(lab, *(f"{PORT}/gids/{i}" for i in range(3)))
    shown = {i: lab.run(["/usr/bin/python3", "-c", "import ipaddress, sys; a = ipaddress."
                         "IPv6Address(sys.argv[1]); print(f'::ffff:{a.ipv4_mapped}' if "
                         "a.ipv4_mapped else a)", gid]).strip() for i, gid in enumerate(gids)}
    same("GIDs", shown, reports.gid_table(text))
    same("types", read(lab, *(f"{PORT}/gid_attrs/types/{i}" for i in range(3))), [TYPE] * 3)
    same("interfaces", read(lab, *(f"{PORT}/gid_attrs/ndevs/{i}" for i in range(3))), ["lo"] * 3)
    rate = read(lab, f"{PORT}/rate")[0]
    if not re.fullmatch(r"\d+(\.5)? Gb/sec \(\dX( \w+)?\)", rate):
        raise Failure(f"rate: {rate}")


@case("sysfs", "counters")
def count(lab):
    """Counters sum all processes, including exited ones, and survive the daemon's death."""
    keep_daemon(lab)
    same("before", set(counters(lab).values()), {0})
    program = ["ib_write_bw", "-F", "-n", "200", "-s", "65536"]
    lab.pair(program, [*program, "127.0.0.1"])
    one = counters(lab)
    same("rx_write_requests", one["rx_write_requests"], 200)
    if one["port_xmit_data"] * 4 < 200 * 65536 or one["port_xmit_packets"] < 200:
        raise Failure(f"too little was sent: {one}")
    if one["port_rcv_packets"] > one["port_xmit_packets"]:
        raise Failure(f"received more than was sent: {one}")
    lab.pair(program, [*program, "127.0.0.1"])
    same("rx_write_requests", counters(lab)["rx_write_requests"], 400)
    status = lab.run([lab.adverb, "status"], adverb=False)
    worker = int(re.search(r"process (\d+)", status).group(1))
    os.kill(worker, signal.SIGKILL)
    lab.wait_until(lambda: worker not in daemons(), 20, "the worker has ended")
    same("rx_write_requests", counters(lab)["rx_write_requests"], 400)


@case("sysfs", "report-counters")
def report_counters(lab):
    """perftest keeps the counter files open and reads them again."""
    program = ["ib_write_bw", "-F", "-n", "100", "-s", "65536"]
    wanted = ["counters/port_xmit_packets", "hw_counters/rx_write_requests",
              "hw_counters/out_of_buffer"]
    _, client = lab.pair(program, [*program, "127.0.0.1", f"--report-counters={','.join(wanted)}"])
    found = dict(re.findall(r"^\s+(\w*counters/\w+)=(\d+)$", client, re.M))
    if found.get(wanted[1]) != "100" or int(found.get(wanted[0], 0)) < 100 or \
            found.get(wanted[2]) != "0":
        raise Failure(f"not what was transferred: {found}\n{client}")


def with_fake_class(lab, fake, commands):
    """Runs shell commands with `fake` as the kernel's /sys/class; returns the words that they print."""
    script = lab.dir / "script"
    script.write_text("set -e\n"
                      f"mount -t overlay none -o lowerdir={fake}:/sys/class /sys/class || exit 77\n"
                      f"{commands}\n")
    process = lab.start([*own_mounts("/sys"), "sh", str(script)], adverb=False)
    if process.wait(60) == 77:
        raise Skip("no overlay on /sys/class here")
    return process.expect(0, 1).split()


@case("sysfs", "interface")
def interface(lab):
    """The interface of a device shows the RDMA device too, unless it shows a card's."""
    fake = lab.dir / "fake"
    folder = "/sys/class/net/lo/device/infiniband"
    look = f"{lab.adverb} run sh -c 'ls {folder}; cat {folder}/*/node_type'"
    (fake / "net" / "lo" / "device").mkdir(parents=True)
    same("output", with_fake_class(lab, fake, look), ["adverb0", "1:", "CA"])
    (fake / "net" / "lo" / "device" / "infiniband" / "mlx5_0").mkdir(parents=True)
    (fake / "net" / "lo" / "device" / "infiniband" / "mlx5_0" / "node_type").write_text("real")
    same("output", with_fake_class(lab, fake, look), ["mlx5_0", "real"])
    if lab.start(["test", "-e", folder]).wait(20) == 0:
        raise Failure("loopback is of no device")


@case("sysfs", "beside-a-card")
def beside_a_card(lab):
    """The kernel's entries stay visible, and ours have other names."""
    fake = lab.dir / "fake"
    (fake / "infiniband").mkdir(parents=True)
    (fake / "infiniband_verbs" / "uverbs0").mkdir(parents=True)
    (fake / "infiniband" / "mlx5_0").symlink_to("../../devices/virtual/net/lo")
    (fake / "infiniband_verbs" / "uverbs0" / "ibdev").write_text("mlx5_0\n")
    words = with_fake_class(lab, fake, f"""
        {lab.adverb} run sh -c 'ls {CLASS}; ls /sys/class/infiniband_verbs; ls /dev/infiniband
            cat {CLASS}/mlx5_0/address; cat /sys/class/infiniband_verbs/uverbs*/ibdev
            readlink {CLASS}/mlx5_0; test ! -e /dev/infiniband/uverbs0
            test -c /dev/infiniband/uverbs1'
        {lab.adverb} run ibv_devinfo | grep hca_id""")
    same("output", words, [
        "adverb0", "mlx5_0", "abi_version", "uverbs0", "uverbs1", "rdma_cm", "uverbs1",
        "00:00:00:00:00:00", "mlx5_0", "adverb0", "../../devices/virtual/net/lo",
        "hca_id:", "adverb0"])


def tree(lab, number=None):
    """Returns the folder of the stand-in files of this namespace, or of the namespace with this number."""
    number = (number or os.stat("/proc/self/ns/net").st_ino) + FOLDER_OF_VERSION
    return lab.dir / f"adverb-sysfs-{os.geteuid()}-{number}"


WALKS = [*(["walker", how] for how in ("fts", "ftsnochdir", "nftw", "openat", "dup", "statx", "chdir")),
         ["find", "-P", None, "-xdev", "-printf", "%p %y %m %l %s %D\\n"],
         ["find", None, "-xdev", "-type", "f", "-size", "-2"],
         ["ls", "-lnR"], ["du", "-ax"], ["tar", "--sort=name", "-cf", "-"], ["grep", "-rc", ""],
         ["/usr/bin/python3", "-c", "import os, sys; [print(top, d, f, [os.lstat(n, dir_fd=fd).st_mode "
          "for n in d + f]) for top, d, f, fd in os.fwalk(sys.argv[1])]"]]


def walked(lab, walk, folder, adverb):
    """Returns a digest of a program's listing of a folder, and its first lines."""
    words = [str(folder) if w is None else w for w in walk]
    words += [] if None in walk else [str(folder)]
    if words[0] == "walker":
        words[0] = lab.client("walker")
    process = lab.start(words, adverb=adverb)
    process.wait(120)
    return sorted(pathlib.Path(process.log).read_bytes().splitlines())


@case("sysfs", "walks", seconds=300)
def walks(lab):
    """A walk through the file system finds the same with and without Adverb: here, in /usr, and where
    the stand-in files are, also those of another namespace."""
    daemon = keep_daemon(lab)
    same("node_type", read(lab, f"{IBDEV}/node_type"), ["1: CA"])
    whole = lab.dir / "whole"
    (whole / "folder").mkdir(parents=True)
    for name in ("sys/class/infiniband/adverb0", "dev/infiniband", "tmp/a"):
        (whole / name).mkdir(parents=True)
        (whole / name / "file").write_text("x" * 100)
    (whole / "link").symlink_to("/sys/class/infiniband")
    shutil.copytree(tree(lab), whole / tree(lab, 4026539999).name, symlinks=True)
    shutil.copytree(tree(lab), tree(lab, 4026539999), symlinks=True)
    places = [tree(lab), tree(lab, 4026539999), whole, pathlib.Path("/usr/include")]
    wrong = []
    for walk in WALKS:
        for place in places:
            plain, ours = (walked(lab, walk, place, adverb) for adverb in (False, True))
            differ = sorted(set(plain) ^ set(ours))
            if not plain or differ or len(plain) != len(ours):
                wrong.append(f"{walk} {place}: {len(plain)} lines, {len(ours)} with Adverb; "
                             f"{differ[:2]}")
    if wrong or not daemon.running():
        raise Failure("\n".join(wrong))


@case("sysfs", "switched-off")
def switched_off(lab):
    if os.path.exists(CLASS):
        raise Skip("the kernel has RDMA devices")
    lab.run([lab.adverb, "run", "--no-sysfs", "ls", CLASS], adverb=False, status=2)
    text = lab.run([lab.adverb, "run", "--no-sysfs", "env"], adverb=False)
    if "LD_PRELOAD" in text:
        raise Failure(text)


@case("sysfs", "other-preloads")
def other_preloads(lab):
    """An existing LD_PRELOAD stays first; nothing is added twice."""
    spread = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/rsocket/librspreload.so"))), None)
    if not spread:
        raise Skip("librspreload.so is not installed")
    text = lab.run([lab.adverb, "run", "sh", "-c", f"echo $LD_PRELOAD; cat {IBDEV}/node_type"],
                   env={"LD_PRELOAD": str(spread)})
    same("output", text.split("\n")[:2],
         [f"{spread}:{lab.build}/lib/libadverb-sysfs.so", "1: CA"])


@case("sysfs", "address-sanitizer")
def address_sanitizer(lab):
    """AddressSanitizer's runtime insists on being the first library, before a preloaded one."""
    if not shutil.which("gcc"):
        raise Skip("gcc is not installed")
    (lab.dir / "a.c").write_text("""#include <stdio.h>
        int main(void) { char s[9] = ""; FILE *f = fopen("/sys/class/infiniband/adverb0/node_type", "r");
        return !f || !fgets(s, 9, f) || puts(s) < 0; }""")
    lab.system(f"cd {lab.dir}; gcc -fsanitize=address -o a a.c")
    same("output", lab.run([lab.dir / "a"]).split(), ["1:", "CA"])


@case("sysfs", "hostile-folder")
def hostile_folder(lab):
    """A folder that others can write to, or that is a link, is not used."""
    (lab.dir / "elsewhere").mkdir()
    link = tree(lab)
    link.symlink_to(lab.dir / "elsewhere")
    others = [pathlib.Path(above, link.name) for above in
              (f"/run/user/{os.geteuid()}", "/run", "/dev/shm", "/tmp")]
    for path in others:
        shutil.rmtree(path, ignore_errors=True)
    same("node_type", read(lab, f"{IBDEV}/node_type"), ["1: CA"])
    same("elsewhere", list((lab.dir / "elsewhere").iterdir()), [])
    same("other places", len([path for path in others if path.is_dir()]), 1)


@case("sysfs", "removed")
def removed(lab):
    """The files are removed with the daemon, but not while a program uses them."""
    daemon = keep_daemon(lab)
    folder = tree(lab)
    same("node_type", read(lab, f"{IBDEV}/node_type"), ["1: CA"])
    shell = lab.start(["sh", "-c", f"cd {IBDEV} && touch {lab.dir}/there && while :; do sleep 1; done"])
    lab.wait_until((lab.dir / "there").exists, 20, "the shell is there")
    daemon.popen.send_signal(signal.SIGTERM)
    daemon.wait(20)
    if not (folder / "sys").is_dir():
        raise Failure("removed under a program that was in it")
    shell.kill()
    others = [tree(lab, number) for number in (11, 12, 13)]
    for other, age in zip(others, (7200, 7200, 60)):
        shutil.copytree(folder, other, symlinks=True)
        os.utime(other, (time.time() - age,) * 2)
    with open(others[1] / ".hold", "rb") as used:
        fcntl.flock(used, fcntl.LOCK_SH)
        same("node_type", read(lab, f"{IBDEV}/node_type"), ["1: CA"])
        lab.wait_until(lambda: not folder.exists(), 20, "the folder is gone")
        lab.wait_until(lambda: not others[0].exists(), 20, "so is one that a daemon left")
        same("one in use, and a young one", [(other / "sys").exists() for other in others[1:]],
             [True, True])
    for other in others[1:]:
        shutil.rmtree(other, ignore_errors=True)  # a daemon that exits may remove it, too
    same("node_type", read(lab, f"{IBDEV}/node_type"), ["1: CA"])
    lab.wait_until(lambda: not folder.exists(), 20, "the folder is gone")
    lab.wait_until(lambda: not list(lab.dir.glob("adverb-sysfs-*")), 20, "nothing is left")


@case("sysfs", "unprivileged")
def unprivileged(lab):
    env = as_nobody(lab)
    text = lab.run(["sh", "-c", f"cat {IBDEV}/node_type; test -r /dev/infiniband/uverbs0 -a "
                    "-w /dev/infiniband/uverbs0 && echo accessible"], prefix=NOBODY, env=env)
    same("output", text.splitlines(), ["1: CA", "accessible"])


@case("sysfs", "ibstat")
def ibstat(lab):
    """libibumad reads sysfs itself."""
    text = lab.run([need_tool("ibstat")])
    if "CA 'adverb0'" not in text or "State: Active" not in text or "Ethernet" not in text:
        raise Failure(text)


@case("sysfs", "libfabric")
def libfabric(lab):
    """libfabric ignores loopback, so the test needs another interface."""
    tool = need_tool("fi_info")
    other_interface(lab)
    text = lab.run([tool, "-p", "verbs"])
    if "domain: adverb0-dgram" not in text:
        raise Failure(text)


@case("sysfs", "hwloc")
def hwloc(lab):
    text = lab.run([need_tool("lstopo-no-graphics"), "-v"])
    if not re.search(r'OpenFabrics .*Port1State=4.* "adverb0"', text):
        raise Failure(text)


def other_interface(lab):
    lab.system("ip link add veth0 type veth peer name veth1; ip addr add 192.0.2.1/24 dev veth0;"
               "ip link set veth0 up; ip link set veth1 up")


@case("sysfs", "ucx-info")
def ucx_info(lab):
    process = lab.start([need_tool("ucx_info"), "-d"])
    if process.wait(60):  # it lists the kinds of failures it can handle, which are no errors
        raise Failure(process.describe())
    text = process.output()
    for transport in ("rc_verbs", "ud_verbs"):
        if not re.search(rf"Transport: {transport}\n#\s+Device: adverb0:1\n", text):
            raise Failure(f"no {transport}:\n{text}")


def ucx_pair(lab, options, env, device=()):
    # At a terminal, because newer versions start MPI without one.
    def program(*words):
        return ["script", "-qefc", shlex.join([need_tool("ucx_perftest"), "-p", "13337", *words]),
                lab.dir / "typescript"]
    _, client = lab.pair(program(*device), program("127.0.0.1", *device, *options, "-n", "1000"), port=13337, env=env)
    found = re.search(r"^Final:\s+(\d+)\s+([\d.]+)", client, re.M)
    if not found or found.group(1) != "1000" or float(found.group(2)) <= 0:
        raise Failure(f"no result:\n{client}")


def ucp_pair(lab, transport, test):
    ucx_pair(lab, ["-t", test, "-s", "8192"],
             {"UCX_TLS": transport, "UCX_NET_DEVICES": "adverb0:1"})


@case("sysfs", "ucx-rc")
def ucx_rc(lab):
    ucp_pair(lab, "rc_v", "tag_lat")


@case("sysfs", "ucx-ud")
def ucx_ud(lab):
    ucp_pair(lab, "ud_v", "tag_lat")


@case("sysfs", "ucx-put")
def ucx_put(lab):
    ucp_pair(lab, "rc_v", "ucp_put_bw")


@case("sysfs", "ucx-atomics")
def ucx_atomics(lab):
    """UCX uses the transport's atomics only if a port's atomic_cap is IBV_ATOMIC_HCA."""
    for test in ("add_lat", "fadd", "cswap"):
        # From UCX 1.18 on, the server wants to know the device, too.
        ucx_pair(lab, ["-t", test, "-s", "8"], None, ["-x", "rc_verbs", "-d", "adverb0:1"])
