# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NFS over RDMA: clients over TCP, through `adverb gateway nfs --reverse`, to the kernel's server."""

import contextlib

from harness import Failure, case
from peer_cases_nfs import MOUNT, PORT, SECONDS, VERSIONS, end, gateway_of

EXPORT = "/tmp/export"
LISTEN, MOUNT_PORT = 13049, 13050
SIZES = (0, 1, 777, 4096, 65537, (4 << 20) + 5)

START = f"""set -e
mkdir -p {EXPORT} /var/lib/nfs/v4recovery /run/rpcbind
printf 'root:x:0:0::/:/bin/sh\\n_rpc:x:106:65534::/run/rpcbind:/bin/false\\n' >/etc/passwd
printf 'sunrpc 111/tcp\\nsunrpc 111/udp\\nnfs 2049/tcp\\n' >/etc/services
printf 'tcp tpi_cots_ord v inet tcp - -\\nudp tpi_clts v inet udp - -\\nlocal tpi_cots_ord - loopback - - -\\n' >/etc/netconfig
mount -t tmpfs export {EXPORT}
mkdir {EXPORT}/files
mount -t nfsd nfsd /proc/fs/nfsd
echo 10 >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
ln -sfn /run /var/run
rpcbind -w
echo '{EXPORT} *(rw,fsid=0,insecure,no_root_squash,no_subtree_check)' >/etc/exports
: >/var/lib/nfs/etab
exportfs -ra
rpc.nfsd --port 2049 --rdma={PORT} 4
rpc.mountd --port {MOUNT_PORT}
"""

END = f"""rpc.nfsd 0
kill $(pidof rpc.mountd) $(pidof rpcbind)
umount /proc/fs/nfsd; umount {EXPORT}
"""


@contextlib.contextmanager
def kernel_server(lab):
    """The kernel serves EXPORT over RDMA."""
    lab.guest.run(START)
    try:
        yield
    finally:
        lab.guest.run(END, status=None)


def start_gateway(lab):
    return gateway_of(lab, "nfs", LISTEN, f"{lab.kernel_side.address['4']}:{PORT}", "--reverse")


# The MOUNT protocol is not carried over RDMA, and libnfs looks for it at the gateway's address.
FORWARD = """
import asyncio, sys

async def forward(reader, writer):
    from_server, to_server = await asyncio.open_connection(sys.argv[3], sys.argv[2])
    async def copy(source, sink):
        while data := await source.read(65536):
            sink.write(data)
        sink.close()
    await asyncio.gather(copy(reader, to_server), copy(from_server, writer))

async def main():
    server = await asyncio.start_server(forward, sys.argv[1], sys.argv[2])
    print("ready", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def url(lab, name):
    return (f"nfs://{lab.adverb_side.address['4']}{EXPORT}/files/{name}"
            f"?version=3&nfsport={LISTEN}&mountport={MOUNT_PORT}")


@case("nfsd", "libnfs")
def libnfs(lab):
    """Programs of libnfs copy files of several sizes to the kernel and back, and list them, by version 3: the
    writes of libnfs 4.0 by version 4 fail from 4 KiB on, with every server."""
    with kernel_server(lab):
        gateway = start_gateway(lab)
        lab.start_server(["/usr/bin/python3", "-c", FORWARD, lab.adverb_side.address["4"], str(MOUNT_PORT),
                          lab.kernel_side.address["4"]], "ready", adverb=False)
        for size in SIZES:
            name = f"size{size}"
            lab.system(f"head -c {size} /dev/urandom >'{lab.dir}/{name}'")
            lab.run(["nfs-cp", f"{lab.dir}/{name}", url(lab, name)], adverb=False, seconds=SECONDS)
            lab.run(["nfs-cp", url(lab, name), f"{lab.dir}/{name}.back"], adverb=False, seconds=SECONDS)
            lab.run(["cmp", f"{lab.dir}/{name}", f"{lab.dir}/{name}.back"], adverb=False)
            wanted = lab.system(f"md5sum <'{lab.dir}/{name}'").split()[0]
            found = lab.guest.run(f"md5sum <{EXPORT}/files/{name}").split()[0]
            if wanted != found:
                raise Failure(f"{name}: sent {wanted}, at the kernel {found}")
        listed = lab.run(["nfs-ls", url(lab, "")], adverb=False)
        if any(f"size{size}" not in listed for size in SIZES):
            raise Failure(f"nfs-ls:\n{listed}")
        end(gateway)


def register_client(version):
    @case("nfsd", f"client-{version}")
    def client(lab):
        """The kernel's client mounts the kernel's server by TCP, through the gateway: files of several sizes, a
        directory of many files, and a tree as a tar file."""
        with kernel_server(lab):
            gateway = start_gateway(lab)
            address = lab.adverb_side.address["4"]
            path = EXPORT if version == "3" else "/"
            more = (f"mountproto=tcp,mountport={MOUNT_PORT},mountaddr={lab.kernel_side.address['4']},nolock"
                    if version == "3" else f"clientaddr={lab.kernel_side.address['4']}")
            lab.guest.run(f"mkdir -p {MOUNT}; mount -i -t nfs -o vers={version},proto=tcp,port={LISTEN},addr={address},"
                          f"{more} {address}:{path} {MOUNT}", seconds=120)
            try:
                use(lab)
            finally:
                lab.guest.run(f"umount {MOUNT}", seconds=120)
            end(gateway)


def use(lab):
    here, there = f"{MOUNT}/files", f"{EXPORT}/files"
    for size in SIZES:
        lab.guest.run(f"head -c {size} /dev/urandom >/tmp/sent && cp /tmp/sent {here}/size{size} && sync && "
                      f"cmp /tmp/sent {there}/size{size} && echo 3 >/proc/sys/vm/drop_caches && "
                      f"cmp /tmp/sent {here}/size{size}", seconds=SECONDS)
    lab.guest.run(f"cd {here} && ln -s {'x' * 900}/target link && mkdir dir && mv size777 dir/moved && "
                  "for i in $(seq 300); do : >dir/a-file-with-a-long-name-$i; done", seconds=SECONDS)
    lab.guest.run("echo 3 >/proc/sys/vm/drop_caches")
    text = lab.guest.run(f"readlink {here}/link; ls {here}/dir | wc -l", seconds=SECONDS)
    if text.split() != ["x" * 900 + "/target", "301"]:
        raise Failure(f"link and directory:\n{text}")
    lab.guest.run(f"cd {here} && tar cf - -C / etc www lib/modules | tar xf - && sync && "
                  f"diff -r /lib/modules {there}/lib/modules && echo 3 >/proc/sys/vm/drop_caches && "
                  "diff -r /lib/modules lib/modules", seconds=SECONDS)


for _version in VERSIONS:
    register_client(_version)
