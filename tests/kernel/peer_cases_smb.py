# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""SMB Direct: the kernel's client, through `adverb gateway smb`, to Samba over TCP."""

import contextlib
import os
import shutil

from harness import Failure, Skip, case
from peer_cases_nfs import compare, end

PORT, SERVER_PORT = 445, 4450
MOUNT = "/tmp/smb"
SECONDS = 300
PASSWORD = "secret"
SIZES = (0, 1, 777, 4096, 65537, (4 << 20) + 5)
SESSIONS = {"plain": ""}

SAMBA = """
[global]
server role = standalone server
smb ports = {port}
interfaces = lo
bind interfaces only = yes
private dir = {folder}/private
lock directory = {folder}/lock
state directory = {folder}/state
cache directory = {folder}/cache
pid directory = {folder}/pid
ncalrpc dir = {folder}/ncalrpc
log file = {folder}/log
passdb backend = tdbsam:{folder}/passdb.tdb
load printers = no
disable spoolss = yes
server min protocol = SMB3
[share]
path = {folder}/share
read only = no
"""


def start_samba(lab):
    """Starts a server of a folder, and returns (the process, the folder)."""
    if not shutil.which("smbd", path="/usr/sbin") or not shutil.which("smbpasswd"):
        raise Skip("needs samba")
    folder = lab.dir / "samba"
    for name in ("private", "lock", "state", "cache", "pid", "ncalrpc", "share"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "smb.conf").write_text(SAMBA.format(folder=folder, port=SERVER_PORT))
    lab.system(f"printf '{PASSWORD}\\n{PASSWORD}\\n' | smbpasswd -c '{folder}/smb.conf' -a -s root")
    # It has a process group of its own: at its end smbd signals the whole group.
    server = lab.start(["/usr/sbin/smbd", "--foreground", f"--configfile={folder}/smb.conf"],
                       adverb=False)
    lab.wait_listening(server, SERVER_PORT)
    return server, folder / "share"


def start_gateway(lab):
    if "no" in lab.guest.run("grep -q SMB_DIRECT /proc/fs/cifs/DebugData || echo no"):
        raise Skip("SMB Direct was not compiled for this kernel")
    lab.harmless_in_log = ("rdma_connect failed port=5445",)  # the kernel tries this port first
    program = os.path.join(lab.build, "adverb-gateway")
    return lab.start_server([program, "smb", "--listen", f"{lab.adverb_side.address['4']}:{PORT}",
                             "--to", f"127.0.0.1:{SERVER_PORT}"], "SMB over RDMA at")


@contextlib.contextmanager
def mounted(lab, options=""):
    """The kernel has mounted the gateway's server at MOUNT."""
    address = lab.adverb_side.address["4"]
    words = f"ip={address},rdma,vers=3.1.1,username=root,password={PASSWORD},{options}".rstrip(",")
    lab.guest.run(f"mkdir -p {MOUNT}; mount -i -t cifs -o {words} //{address}/share {MOUNT}", seconds=120)
    try:
        yield
    finally:
        lab.guest.run(f"umount {MOUNT}", seconds=120)


def register(session, options):
    @case(f"smb-{session}", "files")
    def files(lab):
        """Files of several sizes and directories, and a tree as a tar file and back."""
        server, folder = start_samba(lab)
        gateway = start_gateway(lab)
        with mounted(lab, options):
            for size in SIZES:
                compare(lab, MOUNT, folder, f"size{size}", size)
            lab.guest.run(f"cd {MOUNT} && mkdir dir && mv size777 dir/moved && "
                          "for i in $(seq 100); do : > dir/a-file-with-a-long-name-$i; done", seconds=SECONDS)
            lab.guest.run("echo 3 > /proc/sys/vm/drop_caches")
            text = lab.guest.run(f"ls {MOUNT}/dir | wc -l", seconds=SECONDS)
            if text.split() != ["101"]:
                raise Failure(f"directory:\n{text}")
            lab.guest.run(f"cd {MOUNT} && tar cf - -C / etc lib/modules | tar xf - && "
                          "echo 3 > /proc/sys/vm/drop_caches && diff -r /lib/modules lib/modules", seconds=SECONDS)
        end(gateway)
        server.popen.terminate()
        server.wait(60)


for _session, _options in SESSIONS.items():
    register(_session, _options)
