# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""SMB Direct: clients over TCP, through `adverb gateway smb --reverse`, to the kernel's server."""

import contextlib

from harness import Failure, Skip, case, need_tool
from peer_cases_nfs import end, gateway_of
from peer_cases_smb import MOUNT, PASSWORD, SECONDS, SIZES

EXPORT = "/tmp/export"
LISTEN, PORT = 1445, 445

START = f"""set -e
[ -d /sys/class/ksmbd-control ]
mkdir -p {EXPORT} /etc/ksmbd /run /var
ln -sfn /run /var/run
mount -t tmpfs export {EXPORT}
printf 'root:x:0:0::/:/bin/sh\\nnobody:x:65534:65534::/:/bin/false\\n' >/etc/passwd
printf 'root:x:0:\\nnogroup:x:65534:\\n' >/etc/group
printf '[global]\\ntcp port = {PORT}\\n[share]\\npath = {EXPORT}\\nread only = no\\n' >/etc/ksmbd/ksmbd.conf
: >/etc/ksmbd/ksmbdpwd.db
ksmbd.adduser -a -p {PASSWORD} root
ksmbd.mountd
"""

END = f"""ksmbd.control --shutdown
umount {EXPORT}
"""


@contextlib.contextmanager
def kernel_server(lab):
    """The kernel serves EXPORT by SMB Direct."""
    if "no" in lab.guest.run("grep -q smb_direct /proc/kallsyms || echo no"):
        raise Skip("ksmbd was not compiled for this kernel")
    lab.guest.run(START)
    lab.guest.wait_until(f"netstat -lnt | grep -q ':{PORT} '", 60, "ksmbd listens")
    try:
        yield
    finally:
        lab.guest.run(END, status=None)


def start_gateway(lab):
    return gateway_of(lab, "smb", LISTEN, f"{lab.kernel_side.address['4']}:{PORT}", "--reverse")


def smbclient(lab, commands):
    return lab.run([need_tool("smbclient"), f"//{lab.adverb_side.address['4']}/share", "-p", str(LISTEN),
                    "-U", f"root%{PASSWORD}", "-m", "SMB3", "-s", "/dev/null", "-c", commands], adverb=False, seconds=SECONDS)


@case("ksmbd", "smbclient")
def programs(lab):
    """smbclient copies files of several sizes to the kernel and back, and lists them."""
    need_tool("smbclient")
    with kernel_server(lab):
        gateway = start_gateway(lab)
        for size in SIZES:
            name = f"size{size}"
            lab.system(f"head -c {size} /dev/urandom >'{lab.dir}/{name}'")
            smbclient(lab, f"put {lab.dir}/{name} {name}; get {name} {lab.dir}/{name}.back")
            lab.run(["cmp", f"{lab.dir}/{name}", f"{lab.dir}/{name}.back"], adverb=False)
            wanted = lab.system(f"md5sum <'{lab.dir}/{name}'").split()[0]
            found = lab.guest.run(f"md5sum <{EXPORT}/{name}").split()[0]
            if wanted != found:
                raise Failure(f"{name}: sent {wanted}, at the kernel {found}")
        listed = smbclient(lab, "ls")
        if any(f"size{size} " not in listed for size in SIZES):
            raise Failure(f"ls:\n{listed}")
        end(gateway)


@case("ksmbd", "client")
def client(lab):
    """The kernel's client mounts the kernel's server by TCP, through the gateway: files of several sizes, a directory
    of many files, and a tree as a tar file."""
    with kernel_server(lab):
        gateway = start_gateway(lab)
        address = lab.adverb_side.address["4"]
        words = f"ip={address},port={LISTEN},vers=3.1.1,username=root,password={PASSWORD}"
        lab.guest.run(f"mkdir -p {MOUNT}; mount -i -t cifs -o {words} //{address}/share {MOUNT}", seconds=120)
        try:
            use(lab)
        finally:
            lab.guest.run(f"umount {MOUNT}", seconds=120)
        end(gateway)


def use(lab):
    for size in SIZES:
        lab.guest.run(f"head -c {size} /dev/urandom >/tmp/sent && cp /tmp/sent {MOUNT}/size{size} && sync && "
                      f"cmp /tmp/sent {EXPORT}/size{size} && echo 3 >/proc/sys/vm/drop_caches && "
                      f"cmp /tmp/sent {MOUNT}/size{size}; code=$?; rm /tmp/sent; exit $code", seconds=SECONDS)
    lab.guest.run(f"cd {MOUNT} && mkdir dir && mv size777 dir/moved && "
                  "for i in $(seq 100); do : >dir/a-file-with-a-long-name-$i; done", seconds=SECONDS)
    lab.guest.run("echo 3 >/proc/sys/vm/drop_caches")
    text = lab.guest.run(f"ls {MOUNT}/dir | wc -l", seconds=SECONDS)
    if text.split() != ["101"]:
        raise Failure(f"directory:\n{text}")
    lab.guest.run(f"cd {MOUNT} && tar cf - -C / etc lib/modules | tar xf - && sync && "
                  f"diff -r /lib/modules {EXPORT}/lib/modules && echo 3 >/proc/sys/vm/drop_caches && "
                  "diff -r /lib/modules lib/modules", seconds=SECONDS)
