# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""SMB Direct: the kernel's client, through `adverb gateway smb`, to Samba over TCP."""

import contextlib

import samba_server
from harness import Failure, Skip, case
from peer_cases_nfs import DAEMONS, compare, compare_copies, end, fio, gateway_of, kill_daemon
from samba_server import PASSWORD

PORT, SERVER_PORT = 445, 4450
MOUNT = "/tmp/smb"
SECONDS = 300
SIZES = (0, 1, 777, 4096, 65537, (4 << 20) + 5, (40 << 20) + 3)
# Without `sign`, the client does not consider how long a message may be that it receives without RDMA.
SESSIONS = {"plain": "", "signed": "sign", "sealed": "seal,sign"}
# The longest SEND, for kernels that send a page by several SENDs wrongly (see docs/kernel-peer.md).
WHOLE_PAGES = "case $(uname -r) in 6.1.*) echo 4120 > /proc/fs/cifs/smbd_max_send_size;; esac"


def start_samba(lab):
    """Starts a server of a folder, and returns (the process, the folder)."""
    return samba_server.start(lab, SERVER_PORT, ["server min protocol = SMB3"], lab.adverb_side.address["4"])


def start_gateway(lab):
    if "no" in lab.guest.run("grep -q SMB_DIRECT /proc/fs/cifs/DebugData || echo no"):
        raise Skip("SMB Direct was not compiled for this kernel")
    lab.guest.run(WHOLE_PAGES)
    lab.harmless_in_log += ("rdma_connect failed port=5445",)  # the kernel tries this port first
    return gateway_of(lab, "smb", PORT, f"127.0.0.1:{SERVER_PORT}")


@contextlib.contextmanager
def mounted(lab, options="", transport="rdma"):
    """The kernel has mounted the gateway's server at MOUNT."""
    address = lab.adverb_side.address["4"]
    words = ",".join(filter(None, (f"ip={address},{transport},vers=3.1.1,username=root,password={PASSWORD}", options)))
    lab.guest.run(f"mkdir -p {MOUNT}; mount -i -t cifs -o {words} //{address}/share {MOUNT}", seconds=120)
    try:
        yield
    finally:
        lab.guest.run(f"umount {MOUNT}", seconds=120)


def mounted_tcp(lab, options=""):
    """Like mounted(), without the gateway."""
    return mounted(lab, options, f"port={SERVER_PORT}")


def end_samba(server):
    server.popen.terminate()
    server.wait(60)


def interrupt_copies(lab, options, interrupt):
    """Calls interrupt(gateway, number), for number 0 and 1, while the client copies files; it returns the gateway that serves
    then. The client connects again, and the files are complete. An open() whose response is lost fails with EAGAIN in
    Linux: its copy begins again."""
    server, folder = start_samba(lab)
    gateway = start_gateway(lab)
    # the client reports that its connection has ended, and rdma_rxe of 6.12 that SENDs were not acknowledged
    lab.harmless_in_log += ("CIFS", "make_send_cqe: non-flush error status = 12")
    lab.allowed.add("retry_exceeded_err")
    with mounted(lab, f"{options},hard".lstrip(",")):
        lab.guest.run("head -c 3000000 /dev/urandom > /tmp/source")
        busy = lab.start_in_guest(["sh", "-c", f"for i in $(seq 12); do for try in 1 2 3 4 5; do cp /tmp/source "
                                   f"{MOUNT}/copy$i && break; sleep 1; done; sync; sleep 1; done"])
        for number, copy in enumerate(("copy3", "copy6")):
            lab.wait_until((folder / copy).exists, 200, "the copies go on")
            gateway = interrupt(gateway, number)
        busy.expect(0, SECONDS)
        compare_copies(lab, folder)
    end(gateway)
    end_samba(server)


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
        end_samba(server)

    @case(f"smb-{session}", "fio-lossy")
    def lossy(lab):
        """Random reads and writes with checksums; one packet in a thousand is lost, in each direction."""
        lab.lose_some()
        server, _ = start_samba(lab)
        gateway = start_gateway(lab)
        with mounted(lab, options):  # by default the client makes direct I/O if a program requests it
            fio(lab, MOUNT)
        end(gateway)
        end_samba(server)

    @case(f"smb-{session}", "restarts")
    def restarts(lab):
        """The gateway is killed and started again, twice, while the client copies files."""
        def restart(gateway, _number):
            gateway.kill()
            return start_gateway(lab)

        interrupt_copies(lab, options, restart)

    @case(f"smb-{session}", "killed-daemon")
    def killed_daemon(lab):
        """The worker of adverbd, then all of adverbd is killed while the client copies files."""
        def kill(gateway, number):
            kill_daemon(lab, gateway, DAEMONS[number])
            return gateway

        interrupt_copies(lab, options, kill)


for _session, _options in SESSIONS.items():
    register(_session, _options)
