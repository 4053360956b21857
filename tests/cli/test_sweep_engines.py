#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A sweep of adverb sim as jobs of GNU parallel over ssh and of a Slurm array, as docs/simulator.md shows it.

Usage: test_sweep_engines.py ADVERB SCENARIOS
The ssh server, slurmctld and slurmd are started here, on ports of their own of 127.0.0.1.
Exit status 77, skipped: not root, or neither GNU parallel with sshd nor Slurm is installed.
"""

import contextlib
import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from limits import PATIENCE

ADVERB = pathlib.Path(sys.argv[1]).resolve()
SCENARIO = pathlib.Path(sys.argv[2]).resolve() / "incast.ini"
SWEEP = "host.congestion-control=dcqcn,none; run.seed=1..5"
COMMAND = ["sim", SCENARIO, "--set", "flow.bytes=100kB", "--sweep", SWEEP]
PARTS = 4


def call(*command, **more):
    r = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE, check=False,
                       **more)
    assert r.returncode == 0, (command, r.returncode, r.stdout, r.stderr)
    return r.stdout


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running(log, *command, **more):
    """A process in the foreground; its output goes to the file `log`."""
    with open(log, "wb") as out, subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
                                                  stderr=subprocess.STDOUT, **more) as p:
        try:
            yield p
        finally:
            p.terminate()
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()


def wait_until(what, log, done):
    for _ in range(600):
        if done():
            return
        time.sleep(0.1)
    raise AssertionError((what, log.read_text(errors="replace")[-3000:]))


def check_merged(results, expected):
    """All runs are there, and the command without --part merges them without a run."""
    assert len(list(results.glob("run-*.json"))) == 10
    before = {p: p.stat().st_mtime_ns for p in results.iterdir()}
    assert call(ADVERB, *COMMAND, "--results", results) == expected
    assert before == {p: p.stat().st_mtime_ns for p in results.iterdir()}


# ---- GNU parallel ----

def check_parallel(folder, expected):
    port, key, results = free_port(), folder / "key", folder / "parallel"
    call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    shutil.copy(folder / "key.pub", folder / "authorized")
    (folder / "sshd.conf").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {key}\nAuthorizedKeysFile {folder}/authorized\n"
        f"PidFile {folder}/sshd.pid\nStrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\n")
    (folder / "ssh.conf").write_text(
        f"Host node\nHostName 127.0.0.1\nPort {port}\nUser {getpass.getuser()}\nIdentityFile {key}\n"
        f"StrictHostKeyChecking no\nUserKnownHostsFile {folder}/known\nLogLevel ERROR\n")
    os.makedirs("/run/sshd", exist_ok=True)
    ssh = f"ssh -F {folder}/ssh.conf"
    with running(folder / "sshd.log", shutil.which("sshd"), "-D", "-e", "-f", folder / "sshd.conf"):
        wait_until("sshd", folder / "sshd.log",
                   lambda: subprocess.run([*ssh.split(), "node", "true"], capture_output=True, check=False).returncode == 0)
        call("parallel", "--will-cite", "--ssh", ssh, "--sshlogin", "2/node", "--workdir", folder,
             ADVERB, "sim", SCENARIO, "--set", "flow.bytes=100kB", "--sweep", f"'{SWEEP}'", "--results", results,
             "--part", f"{{}}/{PARTS}", ":::", *range(1, PARTS + 1), env={**os.environ, "HOME": str(folder)})
    check_merged(results, expected)
    print("GNU parallel good")


# ---- Slurm ----

SLURM = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def check_slurm(folder, expected):
    results, conf, host = folder / "slurm", folder / "slurm.conf", socket.gethostname().split(".")[0]
    conf.write_text(SLURM.format(host=host, port=free_port(), node_port=free_port(), folder=folder))
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    job = folder / "job.sh"
    job.write_text(f"""#!/bin/sh
#SBATCH --array=1-{PARTS}
#SBATCH --output={folder}/job-%a.log
exec {ADVERB} sim {SCENARIO} --set flow.bytes=100kB --sweep "{SWEEP}" --results {results} \\
	--part $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT
""")
    env = {**os.environ, "SLURM_CONF": str(conf)}
    with running(folder / "slurmctld.log", "slurmctld", "-D", "-f", conf, env=env), \
            running(folder / "slurmd.log", "slurmd", "-D", "-f", conf, "-N", host, env=env):
        wait_until("slurmctld", folder / "slurmctld.log", lambda: "idle" in subprocess.run(
            ["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False, env=env).stdout)
        call("sbatch", "--wait", job, env=env)
    check_merged(results, expected)
    print("Slurm good")


def main():
    engines = [check for check, programs in ((check_parallel, ("parallel", "sshd", "ssh-keygen")),
                                             (check_slurm, ("slurmctld", "slurmd", "sbatch")))
               if all(map(shutil.which, programs))]
    if os.geteuid() or not engines:
        print("skipped: not root, or neither GNU parallel with sshd nor Slurm is installed")
        return 77
    expected = call(ADVERB, *COMMAND)
    for check in engines:
        with tempfile.TemporaryDirectory() as name:
            check(pathlib.Path(name), expected)
    return 0


if __name__ == "__main__":
    sys.exit(main())
