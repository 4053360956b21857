#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Commands of adverb about the device, with and without a daemon."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import adverbd
from adverbd import Daemon, Skip


def adverb(build, *arguments, as_user=(), **environment):
    return subprocess.run([*as_user, str(build / "adverb"), *arguments], capture_output=True, text=True, check=False,
                          timeout=60, env=dict(os.environ, **environment))


def said_json(done):
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def status_without_a_daemon(build):
    done = adverb(build, "status", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["running"] is False, done
    assert "the first program that uses RDMA starts it" in report["reason"], report


def status_and_devinfo_as_json(build):
    with Daemon(build):
        report = said_json(adverb(build, "status", "--json"))
        assert report["running"] and not report["all_users"] and report["uid"] == os.geteuid(), report
        assert report["keeper_pid"] and report["slots"] == [] and report["clients"] == 0, report
        device = said_json(adverb(build, "devinfo", "--json"))
        assert device["state"] == "PORT_ACTIVE" and device["active_mtu"] == 4096 and device["gids"] == 2, device
        assert device["interface"] == "lo" and device["interface_mtu"] == 65536, device


def status_of_a_second_user(build):
    nobody = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
    if os.geteuid() != 0 or subprocess.run([*nobody, "test", "-x", build / "adverb"], check=False).returncode:
        raise Skip("not root, or another user cannot read the build directory")
    with Daemon(build):
        done = adverb(build, "status", as_user=nobody)
        assert done.returncode == 1 and "in use by the adverbd of user root" in done.stdout, done


def fault_show_without_programs(build):
    with Daemon(build):
        done = adverb(build, "fault", "show")
        assert done.returncode == 0 and "uses RDMA now" in done.stdout, done
        assert said_json(adverb(build, "fault", "show", "--json"))["targets"] == []
        assert adverb(build, "fault", "set", "--cm", "drop=100%; seed=7").returncode == 0
        target, = said_json(adverb(build, "fault", "show", "--json", "--cm"))["targets"]
        assert target["plan"] == "seed=7; drop" and target["packets"] == 0, target
        done = adverb(build, "fault", "clear", "--json", "--cm")
        assert done.returncode == 2 and "show only" in done.stderr, done


def a_log_file_that_cannot_be_written(build):
    with tempfile.TemporaryDirectory() as folder:
        missing = f"{folder}/missing/log"
        done = adverb(build, "run", "--", "true", ADVERB_LOG_FILE=missing)
        assert done.returncode == 125 and f"{missing} cannot be written" in done.stderr, done
        written = pathlib.Path(folder) / "log"
        assert adverb(build, "run", "--", "true", ADVERB_LOG_FILE=str(written)).returncode == 0
        if b"san_init" in (build / "lib/libibverbs.so.1").read_bytes():
            return  # Python, built without a sanitizer, cannot load the library
        # Programs without `adverb run` must not lose the message.
        code = ("import ctypes, os; lib = ctypes.CDLL('libibverbs.so.1'); n = ctypes.c_int();"
                "lib.ibv_get_device_list.restype = ctypes.c_void_p; lib.ibv_get_device_list(ctypes.byref(n))")
        done = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, text=True, check=False, timeout=60,
                              env=dict(os.environ, LD_LIBRARY_PATH=str(build / "lib"), ADVERB_LOG="debug",
                                       ADVERB_LOG_FILE=missing, ADVERB_DAEMON="/nonexistent"))
        assert "/nonexistent" in done.stderr, done


def programs_without_the_libraries(build):
    if os.geteuid() != 0:
        raise Skip("not root")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for mode, words in ((0o4755, "set-user-ID"), (0o2755, "set-group-ID"), (0o755, None)):
            program = shutil.copy("/bin/true", f"{folder}/program")
            os.chown(program, 61234, 61234)
            os.chmod(program, mode)
            done = adverb(build, "run", "--", program)
            assert done.returncode == 0 and (words is None) == (done.stderr == ""), done
            assert words is None or f"{program} is {words}" in done.stderr, done
            os.unlink(program)
        source = pathlib.Path(folder) / "static.c"
        source.write_text("int main(void) { return 0; }\n")
        subprocess.run(["gcc", "-static", "-o", f"{folder}/static", source], check=True)
        assert "is statically linked" in adverb(build, "run", "--", f"{folder}/static").stderr


if __name__ == "__main__":
    adverbd.main([status_without_a_daemon, status_and_devinfo_as_json, status_of_a_second_user,
                  fault_show_without_programs, a_log_file_that_cannot_be_written, programs_without_the_libraries])
