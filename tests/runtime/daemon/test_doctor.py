#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""adverb doctor: what it finds on this machine and on the way to another one."""

import contextlib
import json
import os
import socket
import subprocess

import adverbd
from adverbd import Daemon, wait_for


def doctor(build, *arguments, **environment):
    """Returns the exit status and {check: finding}."""
    # librdmacm keeps its device open until the process ends, in memory that LeakSanitizer does not read.
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    done = subprocess.run([str(build / "adverb"), "doctor", "--json", *arguments], capture_output=True, text=True,
                          check=False, timeout=120,
                          env=dict(os.environ, ASAN_OPTIONS=sanitizer, **environment))
    report = json.loads(done.stdout)
    assert report["bad"] == sum(f["verdict"] == "bad" for f in report["findings"])
    assert done.returncode == (1 if report["bad"] else 0), done
    return done.returncode, {f["check"]: f for f in report["findings"]}


def no_daemon():
    """Waits until the daemon that an earlier command started has ended."""
    def is_free():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("", adverbd.PORT))
            except OSError:
                return False
            return True
    wait_for(is_free)


@contextlib.contextmanager
def peer():
    """A network namespace with the address 10.7.0.2; this one gets 10.7.0.1. Yields a command's prefix."""
    with subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep 1000"],
                          stdout=subprocess.PIPE) as other:
        try:
            other.stdout.readline()
            inside = ["nsenter", "--net", f"--target={other.pid}"]
            adverbd.sh("ip link add dr0 mtu 1500 type veth peer name dr1 mtu 1500;"
                       f"ip link set dr1 netns {other.pid}; ip addr add 10.7.0.1/24 dev dr0; ip link set dr0 up")
            adverbd.sh(f"{' '.join(inside)} sh -c 'ip link set lo up; ip addr add 10.7.0.2/24 dev dr1;"
                       "ip link set dr1 up'")
            yield inside
        finally:
            adverbd.sh("ip link del dr0")
            other.kill()


def a_machine_alone(build):
    status, found = doctor(build)
    assert status == 0, found
    assert found["itself"]["verdict"] == "ok" and "loopback only" in found["addresses"]["finding"], found
    for check in ("versions", "libraries", "adverbd", "files", "offloads", "port 4791", "mtu"):
        assert check in found, check


def a_peer_with_and_without_a_daemon(build):
    no_daemon()
    with peer() as inside:
        for _ in range(2):  # a kernel sends six ICMP messages at once, then one a second
            status, found = doctor(build, "--peer", "10.7.0.2")
            assert status == 1 and "has no daemon" in found["peer"]["finding"], found
        assert found["mtu"]["verdict"] == "slow" and "mtu 4192" in found["mtu"]["remedy"], found
        # Without clients it would end after a second, perhaps before the first question.
        with subprocess.Popen([*inside, str(build / "adverbd"), "--foreground", "--linger", "100"],
                              stderr=subprocess.DEVNULL) as daemon:
            try:
                found = wait_for(lambda: (lambda f: f["verdict"] == "ok" and f)(
                    doctor(build, "--peer", "10.7.0.2")[1]["peer"]))
                assert "10.7.0.2 answers" in found["finding"], found
                subprocess.run([*inside, "nft", "add table ip f; add chain ip f i { type filter hook input priority 0; };"
                                "add rule ip f i udp dport 4791 drop"], check=True)
                status, found = doctor(build, "--peer", "10.7.0.2")
                assert status == 1 and "no answer" in found["peer"]["finding"], found
                assert "firewalls" in found["peer"]["remedy"], found
            finally:
                daemon.terminate()
        the_way_carries_less(build, inside)
        status, found = doctor(build, "--peer", "10.99.0.1")
        assert status == 1 and "ip route get" in found["peer"]["remedy"], found


def the_way_carries_less(build, inside):
    """Longer packets than the peer's interface takes are dropped in silence."""
    subprocess.run([*inside, "nft", "delete table ip f"], check=True)
    with subprocess.Popen([*inside, str(build / "adverbd"), "--foreground", "--linger", "100"],
                          stderr=subprocess.DEVNULL) as daemon:
        try:
            wait_for(lambda: doctor(build, "--peer", "10.7.0.2")[1]["peer"]["verdict"] == "ok")
            status, found = doctor(build, "--peer", "10.7.0.2")
            assert status == 0 and "packets of 1024 bytes pass" in found["path mtu"]["finding"], found
            adverbd.sh("ip link set dr0 mtu 9000")
            wait_for(lambda: "4096 bytes" in doctor(build)[1]["mtu"]["finding"])
            status, found = doctor(build, "--peer", "10.7.0.2")
            assert status == 1 and found["path mtu"]["verdict"] == "bad", found
            assert "packets of 4096 bytes" in found["path mtu"]["finding"], found
            assert "those of 1024 do" in found["path mtu"]["finding"] and "-m 1024" in found["path mtu"]["remedy"], found
        finally:
            daemon.terminate()


def the_port_is_taken(build):
    no_daemon()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("", adverbd.PORT))
        status, found = doctor(build)
        assert status == 1 and f"process {os.getpid()}" in found["port 4791"]["finding"], found
        assert "itself" not in found


def another_daemon_program(build):
    status, found = doctor(build, ADVERB_DAEMON="/bin/true")
    assert status == 1 and found["adverbd"]["verdict"] == "bad", found
    no_daemon()
    with Daemon(build):
        _, found = doctor(build)
        assert "adverbd runs for" in found["daemon"]["finding"], found


def partitions(build):
    """A limited member cannot connect to itself: the doctor says so, and does not report a closed port."""
    for table, first, itself in ("0xffff", None, True), ("0x8001,0x0002", "0x8001", True), \
            ("0x0002,0x8001", "0x0002", False):
        no_daemon()
        with Daemon(build, "--pkeys", table):
            status, found = doctor(build)
            assert status == 0 and ("itself" in found) == itself, found
            assert ("partitions" in found) == bool(first), found
            if first:
                assert f"connections use {first}" in found["partitions"]["finding"], found


if __name__ == "__main__":
    adverbd.main([a_machine_alone, a_peer_with_and_without_a_daemon, the_port_is_taken, another_daemon_program,
                  partitions])
