# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Debian packages, unpacked but not installed: an emulator, and a guest with its kernel.

Everything is in one scratch folder and is created once. File names include the version of the package,
so that a newer package is unpacked again.
"""

import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
EMULATOR = ["qemu-system-x86"]
KERNEL = "linux-image-amd64"
GUEST = ["busybox-static", "iproute2", "ibverbs-providers", "ibverbs-utils", "rdmacm-utils", "perftest",
         "nvme-cli", "e2fsprogs", "fio", "git", "nfs-kernel-server", "rpcbind", "ksmbd-tools"]
MODULES = ["virtio_pci", "virtio_net", "crc32_generic", "ib_uverbs", "rdma_ucm", "rdma_rxe", "sch_netem",
           "sch_prio", "sch_ingress", "cls_u32", "act_mirred", "ifb", "nvme_rdma", "nvmet_rdma", "crc32c_generic", "libcrc32c",
           "ext4", "rpcrdma", "nfsv3", "nfsv4", "nfsd", "aes_generic", "ctr", "ghash_generic", "ccm",
           "gcm", "cmac", "hmac", "md5", "sha256_generic", "sha512_generic", "ecb", "des_generic", "cifs", "ksmbd"]
TOOLS = "tools-6"  # the folder of GUEST: another name when the list changes
LOADER = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"


# The module ksmbd of stable kernels expects longer answers than the programs of Debian 12 send.
KSMBD_RELEASE = "trixie"


class PackageError(Exception):
    """A download or unpacking failed; the text names it."""


def _run(argv, **how):
    if "input" not in how:
        how["stdin"] = subprocess.DEVNULL
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=600, **how)
    if done.returncode:
        raise PackageError(f"{' '.join(map(str, argv[:6]))}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="replace")


def repository():
    """Returns the address of the machine's archive."""
    uri = _run(["apt-get", "indextargets", "--format", "$(REPO_URI)"]).split()
    if not uri:
        raise PackageError("apt knows no archive; is apt-get update needed?")
    return uri[0]


class Archive:
    """The source of packages: the machine's own release (None), or another one of the same archive.

    The lists of another release are in the scratch folder; the machine's lists do not change.
    """

    def __init__(self, release=None, scratch=None):
        self.options = []
        if release:
            self._select(release, scratch / f"apt-{release}")

    def _select(self, release, folder):
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "sources.list").write_text(f"deb {repository()} {release} main\n")
        self.options = ["-o", f"Dir::Etc::SourceList={folder}/sources.list",
                        "-o", "Dir::Etc::SourceParts=-", "-o", f"Dir::State::Lists={folder}/lists",
                        "-o", f"Dir::Cache={folder}/cache", "-o", "APT::Sandbox::User=root"]
        if not any((folder / "lists").glob("*Packages*")):
            _run(["apt-get", *self.options, "-q", "update"])

    def cache(self, *words):
        return _run(["apt-cache", *self.options, *words])

    def download(self, names, folder):
        _run(["apt-get", *self.options, "-q", "-o", "APT::Sandbox::User=root", "download", *names],
             cwd=folder)


def _needed(names):
    """Returns the packages and all their dependencies, without recommended ones."""
    text = Archive().cache("depends", "--recurse", "--no-recommends", "--no-suggests",
                           "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances", *names)
    return sorted({line for line in text.splitlines() if line[:1].isalnum()})


def _kernel_package(archive):
    for line in archive.cache("depends", KERNEL).splitlines():
        word = line.split()[-1]
        if "Depends:" in line and word.startswith("linux-image-"):
            return word
    raise PackageError(f"{KERNEL} depends on no kernel; is apt-get update needed?")


def _unpack(names, folder, archive=None):
    """Downloads packages and unpacks them into `folder`, unless they are there."""
    done = folder.with_name(folder.name + ".done")
    if done.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    files = folder.with_name(folder.name + ".debs")
    shutil.rmtree(files, ignore_errors=True)
    folder.mkdir(parents=True)
    files.mkdir()
    (archive or Archive()).download(names, files)
    for deb in sorted(files.glob("*.deb")):
        _run(["dpkg-deb", "-x", str(deb), str(folder)])
    shutil.rmtree(files)
    done.touch()
    return folder


def emulator(scratch):
    """Returns (command, environment) of qemu-system-x86_64: installed, or from unpacked packages."""
    own = shutil.which("qemu-system-x86_64")
    if own:
        return [own], {}
    root = _unpack(_needed(EMULATOR), scratch / "qemu")
    paths = [root / "lib/x86_64-linux-gnu", root / "usr/lib/x86_64-linux-gnu"]
    command = [str(root / LOADER), "--library-path", ":".join(map(str, paths)),
               str(root / "usr/bin/qemu-system-x86_64"),
               "-L", str(root / "usr/share/qemu"), "-L", str(root / "usr/share/seabios")]
    return command, {"QEMU_MODULE_DIR": str(root / "usr/lib/x86_64-linux-gnu/qemu")}


def _modules_in_order(depfile):
    """Returns the files of the wanted modules, each after those that it needs."""
    needs = {}
    for line in depfile.read_text().splitlines():
        module, _, others = line.partition(":")
        needs[module] = others.split()
    by_name = {pathlib.Path(m).name.split(".")[0].replace("-", "_"): m for m in needs}
    order = []

    def add(module):
        for other in needs[module]:
            add(other)
        if module not in order:
            order.append(module)
    for name in MODULES:
        if name in by_name:  # otherwise it is built in
            add(by_name[name])
    return order


def _lay_out(root, tools, ksmbd, modules):
    """Collects the guest's files from the unpacked packages."""
    for name in ("proc", "sys", "dev", "tmp", "run", "etc", "www", "lib/modules", "usr/sbin"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "usr/bin", "usr/sbin", "lib64", "lib/x86_64-linux-gnu",
                 "usr/lib/x86_64-linux-gnu", "usr/libexec", "etc/libibverbs.d"):
        if (tools / name).is_dir():
            shutil.copytree(tools / name, root / name, symlinks=True, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("perl*", "python*", "gconv", "*.a"))
    shutil.copy(ksmbd / "usr/libexec/ksmbd.tools", root / "usr/libexec")
    busybox = root / "bin/busybox"
    for applet in _run([str(busybox), "--list"]).split():
        if not any((root / folder / applet).exists() for folder in ("bin", "sbin", "usr/bin", "usr/sbin")):
            (root / "bin" / applet).symlink_to("busybox")
    order = _modules_in_order(modules / "modules.dep")
    for module in order:
        shutil.copy(modules / module, root / "lib/modules")
    (root / "lib/modules/order").write_text("".join(f"{pathlib.Path(m).name}\n" for m in order))
    for name, target in (("guest-init", "init"), ("guest-run", "guest-run")):
        shutil.copy(HERE / name, root / target)
        os.chmod(root / target, 0o755)


def _kernel(scratch, release):
    """Unpacks the kernel and decompresses its modules."""
    folder = scratch / (f"kernel-{release}" if release else "kernel")
    if not folder.with_name(folder.name + ".done").exists():
        archive = Archive(release, scratch)
        _unpack([_kernel_package(archive)], folder, archive)
    compressed = [str(module) for module in folder.rglob("*.ko.xz")]
    if compressed:
        _run(["xargs", "xz", "-d"], input="\n".join(compressed).encode())
    return folder


def guest(scratch, release=None):
    """Returns (kernel image, initial file system, kernel version) of the peer: the kernel of a Debian
    release (None: this machine's), with the programs of this machine's release."""
    kernel = _kernel(scratch, release)
    tools = _unpack(_needed(GUEST), scratch / TOOLS)
    ksmbd = scratch / f"ksmbd-{KSMBD_RELEASE}"
    if not ksmbd.with_name(ksmbd.name + ".done").exists():
        _unpack(["ksmbd-tools"], ksmbd, Archive(KSMBD_RELEASE, scratch))
    image = next((kernel / "boot").glob("vmlinuz-*"))
    version = image.name.removeprefix("vmlinuz-")
    archive = scratch / f"{kernel.name}.cpio"
    sources = [*HERE.glob("guest-*"), HERE / "packages.py", *scratch.glob("*.done")]
    if archive.exists() and archive.stat().st_mtime > max(p.stat().st_mtime for p in sources):
        return image, archive, version
    busybox = str(tools / "bin/busybox")
    modules = next(path for path in (kernel / "lib/modules", kernel / "usr/lib/modules") if path.is_dir())
    _run([busybox, "depmod", "-b", str(modules.parent.parent), version])
    root = scratch / "root"
    shutil.rmtree(root, ignore_errors=True)
    _lay_out(root, tools, ksmbd, modules / version)
    _run(["sh", "-ec", f"find . | '{busybox}' cpio -o -H newc >'{archive}'"], cwd=root)
    return image, archive, version


def with_files(scratch, archive, files, directory):
    """Adds files to the initial file system, {file: folder there}; returns a file in `directory`."""
    folder = pathlib.Path(directory) / "files"
    for file, place in files.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(file, folder / place)
    whole = pathlib.Path(directory) / "initramfs.cpio"
    shutil.copy(archive, whole)
    busybox = scratch / TOOLS / "bin/busybox"
    # the kernel unpacks concatenated archives
    _run(["sh", "-ec", f"find . | '{busybox}' cpio -o -H newc >>'{whole}'"], cwd=folder)
    return whole
