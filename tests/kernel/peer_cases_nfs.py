# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NFS over RDMA: the kernel's client, through `adverb gateway nfs`, to NFS-Ganesha over TCP."""

import contextlib
import os
import pathlib
import shutil

from harness import Failure, Skip, case, daemons, process_name

PORT = 20049
SERVER_PORT, MOUNT_PORT = 12049, 12050
MOUNT = "/tmp/nfs"
SECONDS = 300
VERSIONS = ("3", "4.0", "4.1", "4.2")

GANESHA = """
NFS_CORE_PARAM {{ NFS_Port = {nfs}; MNT_Port = {mount}; Protocols = 3, 4; Enable_NLM = false;
                  Enable_RQUOTA = false; Enable_UDP = false; }}
NFS_KRB5 {{ Active_krb5 = false; }}
NFSV4 {{ Graceless = true; RecoveryBackend = fs; RecoveryRoot = {folder}/recovery; }}
EXPORT_DEFAULTS {{ Access_Type = RW; Squash = none; SecType = sys; }}
EXPORT {{ Export_Id = 1; Path = {folder}/export; Pseudo = /export; Protocols = 3, 4; Transports = TCP;
          FSAL {{ Name = VFS; }} }}
"""

# Ganesha registers version 3 at an rpcbind, whose socket is in /run: both have a /run of their own.
BINDER = "mount -t tmpfs tmpfs /run && mkdir /run/rpcbind && exec rpcbind -f"


def start_ganesha(lab):
    """Starts a server of a folder, and returns (its processes, the folder)."""
    if not shutil.which("ganesha.nfsd"):
        raise Skip("needs nfs-ganesha-vfs")
    folder = lab.dir / "ganesha"
    for name in ("export", "recovery"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "ganesha.conf").write_text(GANESHA.format(folder=folder, nfs=SERVER_PORT, mount=MOUNT_PORT))
    binder = lab.start(["unshare", "-m", "sh", "-c", BINDER], adverb=False)
    lab.wait_until(pathlib.Path(f"/proc/{binder.pid}/root/run/rpcbind.sock").exists, 30, "rpcbind listens")
    server = lab.start(["nsenter", "-m", "-t", str(binder.pid), "ganesha.nfsd", "-F", "-L", folder / "ganesha.log", "-f",
                        folder / "ganesha.conf", "-p", folder / "pid"], adverb=False)
    lab.wait_listening(server, SERVER_PORT)
    return (server, binder), folder / "export"


def gateway_of(lab, protocol, port, to, *options):
    """Starts `adverb gateway`, "nfs" or "smb", at a port of Adverb's side, and returns it when it listens."""
    over = "TCP" if "--reverse" in options else "RDMA"
    return lab.start_server([os.path.join(lab.build, "adverb-gateway"), protocol, *options, "--listen",
                             f"{lab.adverb_side.address['4']}:{port}", "--to", to], f"{protocol.upper()} over {over} at")


def start_gateway(lab):
    return gateway_of(lab, "nfs", PORT, f"127.0.0.1:{SERVER_PORT}")


def end(process):
    process.popen.terminate()
    process.expect(0, 60)


def end_ganesha(processes):
    """As end(), but whatever it prints: Ganesha closes its log before its last messages about it."""
    server, binder = processes
    server.popen.terminate()
    status = server.wait(60)
    binder.kill()
    if status != 0:
        raise Failure(f"exit status {status}:\n{server.describe()}")


@contextlib.contextmanager
def mounted(lab, version, folder, transport=f"proto=rdma,port={PORT}"):
    """The kernel has mounted the gateway's server at MOUNT."""
    address, client = lab.adverb_side.address["4"], lab.kernel_side.address["4"]
    path = folder if version == "3" else "/export"
    words = f"vers={version},{transport},addr={address},"
    words += (f"mountproto=tcp,mountport={MOUNT_PORT},mountaddr={address},nolock" if version == "3"
              else f"clientaddr={client}")
    lab.guest.run(f"mkdir -p {MOUNT}; mount -i -t nfs -o {words} {address}:{path} {MOUNT}", seconds=120)
    try:
        yield
    finally:
        lab.guest.run(f"umount {MOUNT}", seconds=120)


def mounted_tcp(lab, version, folder):
    """Like mounted(), without the gateway."""
    return mounted(lab, version, folder, f"proto=tcp,port={SERVER_PORT}")


def compare(lab, mount, folder, name, size):
    """Writes a file of random data at the client, and compares it at both sides. The client has `folder`
    of the server at `mount`."""
    lab.guest.run(f"head -c {size} /dev/urandom > /tmp/{name} && cp /tmp/{name} {mount}/{name} && sync", seconds=SECONDS)
    wanted = lab.guest.run(f"md5sum < /tmp/{name}").split()[0]
    found = lab.system(f"md5sum < '{folder}/{name}'").split()[0]
    lab.guest.run("echo 3 > /proc/sys/vm/drop_caches")
    back = lab.guest.run(f"md5sum < {mount}/{name}", seconds=SECONDS).split()[0]
    if not wanted == found == back:
        raise Failure(f"{name}: written {wanted}, at the server {found}, read {back}")


def compare_copies(lab, folder):
    """Compares copy1 to copy12 in the server's folder with /tmp/source of the client."""
    wanted = lab.guest.run("md5sum < /tmp/source").split()[0]
    for number in range(1, 13):
        found = lab.system(f"md5sum < '{folder}/copy{number}'").split()[0]
        if found != wanted:
            raise Failure(f"copy{number}: {found}, not {wanted}")


# What dies of adverbd: its worker, and all of it.
DAEMONS = (("adverbd",), ("adverbd", "adverbd-keeper"))


def kill_daemon(lab, gateway, names, said="listening again"):
    """Kills the processes of adverbd that have these names. Returns when the gateway has said that it goes on. The kernel
    learns the end of its connection from packets that nobody acknowledges, and its client takes memory into use again that
    requests without an answer name."""
    lab.allowed.add("retry_exceeded_err")
    lab.harmless_in_log += ("make_send_cqe: non-flush error status = 12", "rxe_reg_fast_mr: mr->lkey")
    count = gateway.output().count(said)
    lab.system("kill -KILL " + " ".join(str(pid) for pid in daemons() if process_name(pid) in names))
    lab.wait_until(lambda: gateway.output().count(said) > count or not gateway.running(), 60, "the gateway goes on")


def register(version):
    @case(f"nfs-{version}", "files")
    def files(lab):
        """Files of several sizes, directories, links and locks, and a tree as a tar file and back."""
        server, folder = start_ganesha(lab)
        gateway = start_gateway(lab)
        with mounted(lab, version, folder):
            for size in (0, 1, 777, 4096, 65537, (4 << 20) + 5):
                compare(lab, MOUNT, folder, f"size{size}", size)
            lab.guest.run(f"cd {MOUNT} && ln -s {'x' * 900}/target link && mkdir dir && mv size777 dir/moved && "
                          "for i in $(seq 300); do : > dir/a-file-with-a-long-name-$i; done", seconds=SECONDS)
            lab.guest.run("echo 3 > /proc/sys/vm/drop_caches")
            text = lab.guest.run(f"readlink {MOUNT}/link; ls {MOUNT}/dir | wc -l", seconds=SECONDS)
            if text.split() != ["x" * 900 + "/target", "301"]:
                raise Failure(f"link and directory:\n{text}")
            lab.guest.run(f"cd {MOUNT} && tar cf - -C / etc www lib/modules | tar xf - && "
                          "echo 3 > /proc/sys/vm/drop_caches && diff -r /lib/modules lib/modules", seconds=SECONDS)
        end(gateway)
        end_ganesha(server)

    @case(f"nfs-{version}", "fio-lossy")
    def lossy(lab):
        """Random reads and writes with checksums; one packet in a thousand is lost, in each direction."""
        lab.lose_some()
        server, folder = start_ganesha(lab)
        gateway = start_gateway(lab)
        with mounted(lab, version, folder):
            fio(lab, MOUNT)
        end(gateway)
        end_ganesha(server)

    @case(f"nfs-{version}", "git")
    def git(lab):
        """git clones a repository of many files, over the gateway to the gateway."""
        server, folder = start_ganesha(lab)
        gateway = start_gateway(lab)
        with mounted(lab, version, folder):
            git_clone(lab, folder)
        end(gateway)
        end_ganesha(server)

    @case(f"nfs-{version}", "restarts")
    def restarts(lab):
        """The server, then the gateway are killed and started again while the client copies files: the client
        waits, and the files are complete."""
        server, folder = start_ganesha(lab)
        gateway = start_gateway(lab)
        with mounted(lab, version, folder):
            lab.guest.run("head -c 3000000 /dev/urandom > /tmp/source")
            busy = lab.start_in_guest(["sh", "-c", f"for i in $(seq 12); do cp /tmp/source {MOUNT}/copy$i || exit 1; sync; "
                                       "sleep 1; done"])
            lab.wait_until(lambda: (folder / "copy2").exists(), 120, "the copies begin")
            end_ganesha(server)
            lab.system("sleep 2")
            server, folder = start_ganesha(lab)
            lab.wait_until(lambda: (folder / "copy5").exists(), 200, "the copies go on after the server's restart")
            gateway.kill()
            gateway = start_gateway(lab)
            busy.expect(0, SECONDS)
            compare_copies(lab, folder)
        end(gateway)
        end_ganesha(server)


def register_killed(version):
    @case(f"nfs-{version}", "killed-daemon")
    def killed_daemon(lab):
        """The worker of adverbd, then all of adverbd is killed while the client copies files: the client waits, and the
        files are complete."""
        server, folder = start_ganesha(lab)
        gateway = start_gateway(lab)
        with mounted(lab, version, folder):
            lab.guest.run("head -c 3000000 /dev/urandom > /tmp/source")
            busy = lab.start_in_guest(["sh", "-c", f"for i in $(seq 12); do cp /tmp/source {MOUNT}/copy$i || exit 1; sync; "
                                       "sleep 1; done"])
            for number, names in zip((3, 6), DAEMONS):
                lab.wait_until(lambda copy=folder / f"copy{number}": copy.exists(), 200, "the copies go on")
                kill_daemon(lab, gateway, names)
            busy.expect(0, SECONDS)
            compare_copies(lab, folder)
        end(gateway)
        end_ganesha(server)


def register_locks(version):
    @case(f"nfs-{version}", "locks")
    def locks(lab):
        """Ranges of a file that the client has locked are locked for programs at the server, and the other way
        round. A client waits for a range. (Version 3 has a protocol of its own for locks, over TCP.) A kernel that
        fails without the gateway, over TCP, may fail with it; it does not wait."""
        server, folder = start_ganesha(lab)
        here, there = folder / "locked", f"{MOUNT}/locked"
        program = os.path.join(lab.build, "tests", "kernel", "locks")
        holder = lab.start_server([program, "hold", here, "100", "50"], "locked", adverb=False)
        with mounted_tcp(lab, version, folder):
            works = "Input/output error" not in lab.guest.run(f"locks try {there} 120 10; true")
        gateway = start_gateway(lab)

        def expect(found, wanted):
            if found.strip() != wanted:
                raise Failure(f"'{found.strip()}', not '{wanted}'")

        with mounted(lab, version, folder):
            expect(lab.guest.run(f"locks try {there} 0 10"), "locked")
            expect(lab.guest.run(f"locks try {there} 120 10; true"),
                   "held by another" if works else "fcntl: Input/output error")
            expect(lab.guest.run(f"locks try {there} 150 10"), "locked")
            waiter = lab.start_in_guest(["locks", "wait" if works else "try", there, "140" if works else "150", "20"])
            guest_holder = lab.start_in_guest(["locks", "hold", there, "1000", "1"])
            lab.wait_until(lambda: "locked" in guest_holder.output(), 60, "the client has its lock")
            expect(lab.run([program, "try", here, "1000", "5"], adverb=False), "held by another")
            expect(lab.run([program, "try", here, "1001", "5"], adverb=False), "locked")
            if works and "locked" in waiter.output():
                raise Failure("the client has a range that is locked at the server")
            holder.kill()
            waiter.expect(0, 120)
            guest_holder.kill()
            lab.wait_until(lambda: lab.run([program, "try", here, "1000", "5"], adverb=False).strip() == "locked", 60,
                           "a lock ends with its program")
        end(gateway)
        end_ganesha(server)


GIT = """set -e
git init -q -b main '{tree}'
cd '{tree}'
git config user.name lab && git config user.email lab@localhost
for round in 1 2 3 4; do
    for i in $(seq 200); do
        mkdir -p part$((i % 17))/sub$((i % 5))
        head -c $((i * round * 13 % 9000)) /dev/urandom | base64 > part$((i % 17))/sub$((i % 5))/file$i
    done
    head -c 3000000 /dev/urandom > large
    git add -A && git commit -q -m "round $round"
done
git clone -q --bare . '{origin}'
"""


def git_clone(lab, folder):
    """The client clones a repository of the server, `folder` there, into another folder of it, both mounted."""
    lab.system(GIT.format(tree=lab.dir / "tree", origin=f"{folder}/origin.git"), seconds=SECONDS)
    lab.guest.run(f"export HOME=/tmp; git config --global safe.directory '*' && cd {MOUNT} && "
                  "git clone -q --template= --no-local origin.git clone && cd clone && git fsck --full && "
                  "[ -z \"$(git status --porcelain)\" ]", seconds=2 * SECONDS)
    lab.system(f"diff -r --exclude=.git '{lab.dir}/tree' '{folder}/clone'")


def fio(lab, mount):
    words = ["fio", "--name=verify", f"--filename={mount}/fio", "--size=4m", "--direct=1", "--ioengine=libaio",
             "--iodepth=16", "--rw=randrw", "--bsrange=4k-256k", "--bs_unaligned=0", "--verify=crc32c",
             "--verify_fatal=1", "--randseed=7", "--output=/tmp/fio"]
    text = lab.guest.run(f"{' '.join(words)} && cat /tmp/fio", seconds=SECONDS)
    if "err= 0" not in text or "WRITE:" not in text or "READ:" not in text:
        raise Failure(f"fio:\n{text}")


for _version in VERSIONS:
    register(_version)
    register_killed(_version)
    if _version != "3":
        register_locks(_version)
