# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A shell that runs the commands of pages, and the environment for them."""

import os
import pathlib
import re
import select
import shutil
import subprocess
import time

import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT = 30 * harness.SLOWER  # seconds for one command
END = "== end of the command, status "
ENDED = re.compile(re.escape(END.encode()) + rb"(\d+)\n")
BACKGROUND = re.compile(r"^adverb (?:run|check) .*(?<!2)>(\S+) &$")
JOB = re.compile(r"\[\d+\][+-]? ")  # the shell reports the end of a job
AT_WORK = re.compile(r"stays|waits|Gb/s")
FIRST_PID = 20000  # process ids of the pages have five digits
COMPILER = '#!/bin/sh\nexec /usr/bin/cc -Wall -Wextra -Werror "$@"\n'


class Shell:
    """A shell that runs the commands of a page, one after another. status: of the last one."""

    def __init__(self, directory, patient=True):
        """patient: `sleep` waits for the program that was started before."""
        self.patient = patient
        self.limit = LIMIT
        self.directory = directory
        self.bash = subprocess.Popen(["bash", "--norc"], cwd=directory, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.bash.stdout.fileno(), False)
        self.status = 0
        self.starting = None  # the command and the log of a program that may not be at work yet
        self.run("set -m")  # for kill %1; it complains that there is no terminal

    def run(self, command):
        """Returns the lines that a command prints."""
        if self.starting and command.startswith("sleep"):
            self.wait_for(*self.starting)
        self.starting = None
        self.bash.stdin.write(f"{{ {command}\n}} </dev/null\nprintf '%s%d\\n' '{END}' $?\n".encode())
        self.bash.stdin.flush()
        text = self.read_to_end(command)
        if self.patient and (background := BACKGROUND.search(command)):
            self.starting = command, self.directory / background[1]
        text = text.replace(str(self.directory), self.directory.name)
        return [line for line in text.splitlines() if not JOB.match(line)]

    def read_to_end(self, command):
        text = b""
        deadline = time.monotonic() + self.limit
        while not (ended := ENDED.search(text)):  # the shell may report the end of a job behind it
            if not select.select([self.bash.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise harness.Failure(f"$ {command}\n{text.decode(errors='replace')}no end within {self.limit} s")
            piece = self.bash.stdout.read()
            if not piece:
                raise harness.Failure(f"$ {command}\n{text.decode(errors='replace')}the shell has ended")
            text += piece
        self.status = int(ended[1])
        return ENDED.sub(b"", text, count=1).decode(errors="replace")

    @staticmethod
    def wait_for(command, log):
        deadline = time.monotonic() + LIMIT
        while not (log.exists() and AT_WORK.search(log.read_text(errors="replace"))):
            if time.monotonic() > deadline:
                raise harness.Failure(f"$ {command}\nnot at work within {LIMIT} s")
            time.sleep(0.02)

    def finish(self):
        """Ends the shell and the programs that it left in the background."""
        self.bash.stdin.write(b"kill -KILL $(jobs -p) 2>/dev/null\nexit\n")
        self.bash.stdin.close()
        self.bash.wait(timeout=LIMIT)


def copy_sources(directory):
    """Copies what the commands need to a directory outside of the repository."""
    for folder in ("examples", "scenarios"):
        shutil.copytree(ROOT / folder, directory / folder)


def prepare(directory, build):
    """Sets the environment of the commands."""
    (directory / "bin").mkdir()
    (directory / "bin" / "cc").write_text(COMPILER)
    (directory / "bin" / "cc").chmod(0o755)
    path = f"{directory}/bin:{build}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    os.environ.update(PATH=path, LC_ALL="C", HOME=str(directory), XDG_RUNTIME_DIR=str(directory),
                      COLUMNS="120")
    for name in ("ADVERB_LOG", "ADVERB_LOG_FILE", "ADVERB_FAULT", "ADVERB_CC", "LD_LIBRARY_PATH"):
        os.environ.pop(name, None)
    if os.getpid() == 1:  # a PID namespace
        pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(FIRST_PID))
