# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The speed of the kernel's NFS and SMB clients through `adverb gateway`, beside the same clients and servers over TCP.
Nothing is asserted about it: the cases print a table for docs/storage.md."""

import json

import peer_cases_nfs as nfs
import peer_cases_smb as smb
from harness import case

SECONDS = 6  # of each load
LOADS = {
    "writes of 1 MiB, depth 4": "--rw=write --bs=1m --iodepth=4",
    "reads of 1 MiB, depth 4": "--rw=read --bs=1m --iodepth=4",
    "random reads of 4 KiB, depth 8": "--rw=randread --bs=4k --iodepth=8",
    "random reads of 4 KiB, depth 1": "--rw=randread --bs=4k --iodepth=1",
}


def load(lab, mount, options):
    """Runs fio with direct I/O; returns (MB/s, IOPS)."""
    text = lab.guest.run(f"fio --name=load --filename={mount}/load --size=32m --direct=1 --ioengine=libaio --time_based "
                         f"--runtime={SECONDS} {options} --output-format=json --output=/tmp/load && cat /tmp/load",
                         seconds=300)
    job = json.loads(text[text.index("{"):])["jobs"][0]
    side = job["write" if "--rw=write" in options else "read"]
    return side["bw_bytes"] / 1e6, side["iops"]


def table(lab, mount, transports):
    """Prints the figures of each load. transports: {name: a function that mounts the server at `mount`}."""
    found = {}
    for name, mounted in transports.items():
        with mounted():
            for words, options in LOADS.items():
                found[words, name] = load(lab, mount, options)
    for words in LOADS:
        figures = [found[words, name] for name in transports]
        print(f"measured: {words}: " + ", ".join(
            f"{name} {rate:.0f} MB/s" if "MiB" in words else f"{name} {iops:.0f} IOPS"
            for name, (rate, iops) in zip(transports, figures)))


@case("speed", "nfs")
def nfs_speed(lab):
    """NFS 4.2 with NFS-Ganesha."""
    server, folder = nfs.start_ganesha(lab)
    gateway = nfs.start_gateway(lab)
    table(lab, nfs.MOUNT, {"gateway": lambda: nfs.mounted(lab, "4.2", folder),
                           "TCP": lambda: nfs.mounted_tcp(lab, "4.2", folder)})
    nfs.end(gateway)
    nfs.end_ganesha(server)


@case("speed", "smb")
def smb_speed(lab):
    """SMB 3.1.1 with Samba, neither signed nor encrypted."""
    server, _ = smb.start_samba(lab)
    gateway = smb.start_gateway(lab)
    table(lab, smb.MOUNT, {"gateway": lambda: smb.mounted(lab, "cache=none"),
                           "TCP": lambda: smb.mounted_tcp(lab, "cache=none")})
    nfs.end(gateway)
    smb.end_samba(server)
