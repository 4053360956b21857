# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Debian's Samba as a server of a folder, for the gateway of SMB."""

import shutil

from harness import Skip

PASSWORD = "secret"
CONFIGURATION = """
[global]
server role = standalone server
smb ports = {port}
interfaces = lo {address}
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
{options}
[share]
path = {folder}/share
read only = no
"""


def start(lab, port, options, address=""):
    """Starts a server of the share `share` with the user root. options: lines of the section [global]; address: one
    at which it listens besides that of loopback. Returns the process and the share's folder."""
    if not shutil.which("smbd", path="/usr/sbin") or not shutil.which("smbpasswd"):
        raise Skip("needs samba")
    folder = lab.dir / "samba"
    for name in ("private", "lock", "state", "cache", "pid", "ncalrpc", "share"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "smb.conf").write_text(CONFIGURATION.format(folder=folder, port=port, address=address,
                                                          options="\n".join(options)))
    lab.system(f"printf '{PASSWORD}\\n{PASSWORD}\\n' | smbpasswd -c '{folder}/smb.conf' -a -s root")
    # It has a process group of its own: at its end smbd signals the whole group.
    server = lab.start(["/usr/sbin/smbd", "--foreground", f"--configfile={folder}/smb.conf"], adverb=False)
    lab.wait_listening(server, port)
    return server, folder / "share"
