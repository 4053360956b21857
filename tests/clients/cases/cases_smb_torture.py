# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""smbtorture, Samba's own tests of servers, through `adverb gateway smb` in both directions to Samba, and without."""

import re

import cases_smb
import samba_server
from harness import Failure, Skip, case, need_tool

OPTIONS = ("server min protocol = SMB2", "kernel share modes = no", "kernel oplocks = no", "posix locking = no")
# Tests of a second or less each, of everything that passes the gateways. Not those of several connections in one
# session (multichannel, replay), or of time.
TESTS = ("acls", "charset", "compound", "compound_find", "connect", "create", "credits", "delete-on-close-perms", "deny",
         "dir", "durable-open", "durable-v2-open", "fileid", "getinfo", "ioctl", "lease", "lock", "mkdir",
         "openattr", "oplock", "read", "rename", "rw", "session", "session-id", "setinfo", "sharemode", "streams", "tcon",
         "winattr", "zero-data-ioctl")


def torture(lab, port, name):
    """Runs the tests of a group; returns {test: how it ended}."""
    process = lab.start([need_tool("smbtorture"), "//127.0.0.1/share", "-p", port, "-U",
                         f"root%{samba_server.PASSWORD}", "-m", "SMB3",
                         f"smb2.{name}", "--option=interfaces=lo", "--option=bind interfaces only=yes"], adverb=False)
    process.wait(120)
    found = re.findall(r"^(success|failure|error|skip): (\S+)", process.output(), re.M)
    return {test: how for how, test in found}, process


@case("smb-long", "torture", seconds=900)
def smbtorture(lab):
    """No test fails through the gateways that passes directly."""
    if not lab.is_root:
        raise Skip("Samba needs root")
    samba_server.start(lab, cases_smb.SERVER_PORT, OPTIONS)
    gateway = cases_smb.start_gateway(lab)
    other = cases_smb.start_reverse(lab)
    passed, wrong = 0, []
    for name in TESTS:
        directly, _ = torture(lab, cases_smb.SERVER_PORT, name)
        through, process = torture(lab, cases_smb.REVERSE_PORT, name)
        good = [test for test, how in directly.items() if how == "success"]
        bad = [test for test in good if through.get(test) != "success"]
        passed += len(good) - len(bad)
        wrong += [f"{name}.{test}: {through.get(test)}\n{process.describe()[-3000:]}" for test in bad]
    print(f"measured: {passed} tests pass")
    if wrong or passed < 100:
        raise Failure("\n".join(wrong))
    cases_smb.end(other)
    cases_smb.end(gateway)
