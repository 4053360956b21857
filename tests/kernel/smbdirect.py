# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kernel's SMB client and server with SMB Direct, which Debian's kernel has without: compiled from Debian's source
of that kernel with the options on."""

import pathlib

import modules

MENDS = 2  # another number when FAULTS changes
BUILDS = {
    "client/cifs.ko": ["CONFIG_CIFS=m", "CONFIG_CIFS_SMB_DIRECT=y", "KCFLAGS=-DCONFIG_CIFS_SMB_DIRECT=1"],
    "server/ksmbd.ko": ["CONFIG_SMB_SERVER=m", "CONFIG_SMB_SERVER_SMBDIRECT=y",
                        "KCFLAGS=-DCONFIG_SMB_SERVER_SMBDIRECT=1"],
}


def paths(scratch, version):
    """Returns {name of a module: its file}; the files need not exist."""
    folder = pathlib.Path(scratch) / f"smbdirect-{MENDS}-{version}"
    return {name: folder / name for name in ("cifs.ko", "ksmbd.ko")}


# Faults of kernels at which a case would fail: (file, text, text instead). See docs/kernel-peer.md.
FAULTS = (
    # ksmbd of 6.1.192 ends with a NULL pointer when a directory is opened.
    ("server/oplock.c", "if (!atomic_dec_and_test(&opinfo->refcount))",
     "if (!opinfo || !atomic_dec_and_test(&opinfo->refcount))"),
    # The client of 6.12.117 waits forever when its connection ends: a SEND that fails stays pending, ...
    ("client/smbdirect.c", """
		mempool_free(request, info->request_mempool);
		smbd_disconnect_rdma_connection(info);
		return;
""", """
		smbd_disconnect_rdma_connection(info);
"""),
    # ... and a WRITE that cannot be sent keeps its memory region.
    ("client/smb2pdu.c", """
async_writev_out:
	cifs_small_buf_release(req);
out:
	if (rc) {
""", """
async_writev_out:
	cifs_small_buf_release(req);
out:
	if (rc) {
		if (wdata->mr)
			smbd_deregister_mr(wdata->mr);
		wdata->mr = NULL;
"""),
)


def _mend(source):
    """Replaces the faults, where a kernel has them."""
    for file, wrong, right in FAULTS:
        path = source / file
        path.write_text(path.read_text().replace(wrong, right))


def build(scratch, version, release=None):
    """Compiles both modules for the kernel `version`; see modules.compiled()."""
    folder = next(iter(paths(scratch, version).values())).parent
    return modules.compiled(folder, scratch, version, release, "fs/smb", _mend, BUILDS,
                            ["fs/internal.h", "fs/nls"])
