# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Builds ns-3 HPCC and csg-htsim from checkouts that the user has, outside of them.

Both are compiled as their own build files do it for speed (-O3, no assertions, no log lines).
"""

import os
import pathlib
import re
import shutil
import subprocess

NS3_MODULES = ("core", "network", "internet", "point-to-point", "applications", "bridge", "mpi")
# Modules whose headers are included, but none of whose functions is called.
NS3_HEADERS = ("config-store", "stats", "tools")
# Files that the modules' build files leave out on Linux, and the only one that needs the module stats.
NS3_LEFT_OUT = re.compile(
    r"win32|cairo|nsc-|random-variable-stream-helper|broadcom-node-container|v4ping")
# What `./waf configure` would find out on Linux.
NS3_CONFIG = """#define INT64X64_USE_128 1
#define HAVE___UINT128_T 1
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_DIRENT_H 1
#define HAVE_STDLIB_H 1
#define HAVE_GETENV 1
#define HAVE_SIGNAL_H 1
#define HAVE_PTHREAD_H 1
"""
NS3_FLAGS = ["-std=gnu++11", "-O3", "-w", "-fpermissive"]
HTSIM_FLAGS = "-std=c++11 -O3 -w -fPIE"
BUILD_SECONDS = 3600


class Failure(Exception):
    """A simulator cannot be built or run."""


def call(command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, timeout=BUILD_SECONDS, **more)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))[:200]}:\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def revision(checkout):
    """Returns the commit of a checkout, or "" if it is none."""
    done = subprocess.run(["git", "-C", checkout, "rev-parse", "--short=10", "HEAD"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def ns3_files(root, module, ending):
    folder = root / "src" / module
    return sorted(path for part in ("model", "helper", "utils")
                  for path in (folder / part).glob(f"**/*{ending}")
                  if not NS3_LEFT_OUT.search(path.name))


def ns3_headers(root, folder):
    """Links the headers of all modules into one folder, and writes those that waf would write."""
    folder.mkdir(parents=True, exist_ok=True)
    for module in NS3_MODULES + NS3_HEADERS:
        for path in ns3_files(root, module, ".h"):
            (folder / path.name).unlink(missing_ok=True)
            (folder / path.name).symlink_to(path)
        # The list of the module's public headers.
        text = (root / "src" / module / "wscript").read_text()
        names = re.findall(r"'\w+/(?:[\w-]+/)*([\w-]+\.h)'", text.partition("headers.source = [")[2].partition("]")[0])
        (folder / f"{module}-module.h").write_text("".join(f'#include "{n}"\n' for n in names if (folder / n).exists()))
    (folder / "core-config.h").write_text(NS3_CONFIG)
    (folder / "config-store-config.h").write_text("")


def build_ns3(checkout, out, jobs):
    """Returns the program of ns-3 HPCC's scratch/third.cc."""
    root, out = pathlib.Path(checkout).resolve() / "simulation", pathlib.Path(out).resolve()
    ns3_headers(root, out / "include" / "ns3")
    sources = [root / "scratch" / "third.cc"]
    for module in NS3_MODULES:
        sources += ns3_files(root, module, ".cc")
    rules = ["all: third\n"]
    objects = []
    for source in sources:
        name = "-".join(source.relative_to(root).with_suffix(".o").parts)
        objects.append(name)
        rules.append(f"{name}: {source}\n\t$(CXX) {' '.join(NS3_FLAGS)} -Iinclude -c $< -o $@\n")
    rules.append(f"third: {' '.join(objects)}\n\t$(CXX) -pthread -o $@ $^ -lrt\n")
    (out / "Makefile").write_text("\n".join(rules))
    call(["make", "-C", out, f"-j{jobs}", "CXX=" + os.environ.get("CXX", "g++")])
    return out / "third"


def build_htsim(checkout, out, jobs):
    """Returns the program htsim_roce."""
    out = pathlib.Path(out).resolve()
    shutil.copytree(pathlib.Path(checkout) / "sim", out / "sim", dirs_exist_ok=True)
    cxx = "CC=" + os.environ.get("CXX", "g++")
    call(["make", "-C", out / "sim", f"-j{jobs}", cxx, f"CFLAGS={HTSIM_FLAGS}", "libhtsim.a"])
    call(["make", "-C", out / "sim" / "datacenter", f"-j{jobs}", cxx, f"CFLAGS={HTSIM_FLAGS}",
          "htsim_roce"], env={**os.environ, "PWD": str(out / "sim" / "datacenter")})
    return out / "sim" / "datacenter" / "htsim_roce"
