# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A Linux kernel with rdma_rxe in an emulated machine, and commands that run there.

As a program: guest.py ADDRESS COMMANDS runs shell commands in the machine at ADDRESS, prints their process
group and output, and exits with their exit status.
"""

import http.client
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "clients")]

import harness  # noqa: E402

INTERFACE = "tap0"
HOST = {"4": "10.77.0.1", "6": "fd77::1"}
PEER = {"4": "10.77.0.2", "6": "fd77::2"}
PREFIX_LENGTH = {"4": 24, "6": 64}
BOOT_SECONDS = 300
# Runs a command in the control group that guest-init makes: threads of the kernel go before it.
AFTER_THE_KERNEL = ["sh", "-c", 'echo 0 >/sys/fs/cgroup/idle/cgroup.procs && exec "$@"', "sh"]


def stream(address, commands, out, seconds=3600):
    """Runs shell commands in the guest and writes their output as it arrives; returns the exit status."""
    connection = http.client.HTTPConnection(address, 80, timeout=seconds)
    try:
        connection.request("POST", "/cgi-bin/run", body=commands.encode())
        answer = connection.getresponse()
        last = b""
        while chunk := answer.read1(65536):
            out.write(chunk)
            out.flush()
            last = (last + chunk)[-64:]
    finally:
        connection.close()
    ended = re.search(rb"\[exit (\d+)\]\s*$", last)
    return int(ended.group(1)) if ended else 255


class GuestProcess(harness.Process):
    """A program in the guest, with the interface of a harness.Process."""

    def __init__(self, guest, argv, log):
        self.guest = guest
        super().__init__(["/usr/bin/python3", str(HERE / "guest.py"), PEER["4"], shlex.join(argv)],
                         log, dict(os.environ), "/")

    def group(self):
        """Returns the number of its process group, or None before it runs."""
        first = self.output().partition("\n")
        return int(first[0]) if first[1] and first[0].isdigit() else None

    def signal(self, name):
        """Sends a signal to all its processes, if any are left."""
        if self.running() and self.group() is not None:
            self.guest.run(f"kill -{name} -{self.group()}", status=None)

    def kill(self):
        self.signal("KILL")
        super().kill()

    def ended_in_rpings_race(self):
        """As in harness.Process. guest-run adds a line with the exit status."""
        return (self.argv[-1].startswith("rping ") and self.popen.returncode == 255
                and self.output().strip().endswith("rdma_get_cm_event: Bad file descriptor\n[exit 255]"))

    def describe(self):
        return "(kernel) " + super().describe()


class Guest:
    """The emulated machine. Create it in a separate network namespace; stop() ends it."""

    def __init__(self, emulator, image, archive, directory, cpus=1):
        """emulator: (command, environment). directory: for the output of console and emulator."""
        self.cpus = cpus
        self.device = "rxe"
        command, environment = emulator
        self.console = pathlib.Path(directory) / "console"
        self.console.write_text("")
        self.networking()
        with open(pathlib.Path(directory) / "qemu.log", "wb") as log:
            self.popen = subprocess.Popen(
                [*command, *self.hardware(image, archive)], stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, env={**os.environ, **environment})

    @staticmethod
    def networking():
        commands = [f"ip tuntap add {INTERFACE} mode tap",
                    f"sh -c 'echo 0 > /proc/sys/net/ipv6/conf/{INTERFACE}/accept_dad'",
                    f"ip link set {INTERFACE} up"]
        commands += [f"ip address add {HOST[f]}/{PREFIX_LENGTH[f]} dev {INTERFACE}" for f in HOST]
        for command in commands:
            subprocess.run(shlex.split(command), check=True, timeout=30, stdin=subprocess.DEVNULL)

    def hardware(self, image, archive):
        """Returns the options of the machine: emulated CPUs, one network card, the console in a file."""
        return ["-accel", "tcg", "-cpu", "max", "-smp", str(self.cpus), "-m", "768", "-nodefaults", "-no-user-config",
                "-display", "none", "-no-reboot", "-serial", f"file:{self.console}",
                "-netdev", f"tap,id=net,ifname={INTERFACE},script=no,downscript=no",
                "-device", "virtio-net-pci,netdev=net,romfile=,mac=52:54:00:77:00:02",
                "-kernel", str(image), "-initrd", str(archive), "-append",
                # A busy machine gives the emulator no time: the kernel must not take that for a fault.
                "no_timer_check nosoftlockup rcupdate.rcu_cpu_stall_suppress=1 "
                f"console=ttyS0 panic=-1 quiet peer4={PEER['4']}/24 peer6={PEER['6']}/64"]

    def wait_ready(self):
        deadline = time.monotonic() + BOOT_SECONDS
        while "peer: ready" not in self.console.read_text(errors="replace"):
            if self.popen.poll() is not None or time.monotonic() > deadline:
                raise harness.Failure("the guest did not come up:\n" +
                                      self.console.read_text(errors="replace")[-3000:])
            time.sleep(0.2)

    def run(self, commands, seconds=180, status=0):
        """Runs shell commands in the guest to their end; returns their output."""
        done = subprocess.run(["/usr/bin/python3", str(HERE / "guest.py"), PEER["4"], commands],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds, check=False)
        text = done.stdout.decode(errors="replace")
        body = re.sub(r"\[exit \d+\]\s*$", "", text.partition("\n")[2])
        if status is not None and done.returncode != status:
            raise harness.Failure(f"(kernel) $ {commands}\n{body}[exit status {done.returncode}]")
        return body

    def wait_until(self, commands, seconds, what):
        """Waits until shell commands in the guest succeed."""
        self.run(f"i=0; until {commands} >/dev/null 2>&1; do i=$((i+1)); "
                 f"[ $i -lt {seconds * 5} ] || {{ echo {shlex.quote(what)}: not within {seconds} s; exit 1; }}; "
                 f"usleep 200000; done", seconds=seconds * 3 + 60)

    def counters(self):
        """Returns {name: value} of the counters of rdma_rxe."""
        text = self.run("cd /sys/class/infiniband/rxe0/ports/1/hw_counters; grep . *")
        return {name: int(value) for name, value in (line.split(":") for line in text.split())}

    def use_device(self, kind):
        """Makes the kernel's only RDMA device "rxe" or "siw": rxe0 or siw0. Skips the case without siw."""
        if self.device == kind:
            return
        if kind == "siw" and "no" in self.run("[ -f /lib/modules/siw.ko ] || echo no"):
            raise harness.Skip("siw was not compiled for this kernel")
        commands = "[ -d /sys/module/siw ] || insmod /lib/modules/siw.ko || exit; " if kind == "siw" else ""
        self.run(f"{commands}rdma link delete {self.device}0 && rdma link add {kind}0 type {kind} netdev eth0")
        self.device = kind

    def kernel_log(self):
        return self.run("dmesg")

    def stop(self):
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait(timeout=30)


if __name__ == "__main__":
    sys.exit(stream(sys.argv[1], sys.argv[2], sys.stdout.buffer))
