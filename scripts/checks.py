# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs steps of scripts/check, which has installed what they need.

Usage: scripts/checks.py STEP...

scripts/steps lists the steps. Build directories and logs are in build-check/. A step that fails, crashes or
takes too long is one failure, and the next step runs.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback

from suites import suites_of as suites_of_source

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOP = ROOT / "build-check"
COVERAGE_WANTED = 90.0
CLANG_FORMAT = 14
# Limits in seconds against hangs: twenty times what two idle cores need. They do not measure speed.
SMALL = 600  # a check of texts, a configuration
LARGE = 3600  # a build, a run of a suite
HUGE = 14400  # the kernel lab with one kernel: about ten times
PATIENCE = 4  # factor on the time limits in meson.build; sanitizers get a larger one
FUZZ_SECONDS = 5  # for each target
BUILD_NICENESS = 15  # builds run beside tests, which come first
GOOD = {"OK", "EXPECTEDFAIL"}
THREADED = {"device", "progress", "verbs", "threads"}  # suites that run under ThreadSanitizer
NOT_ASAN = {"clients", "exhaustive"}  # suites that do not run under AddressSanitizer: they take too long
# Suites, each with the folders of src whose coverage it gives.
COVERED = {"wire": ["nic/wire"], "cm": ["nic/cm"],
           "engine": ["nic/engine", "nic/fast", "nic/queue", "nic/requester", "nic/responder", "nic/memory",
                         "nic/congestion"]}
NOT_CORE = {"clients", "exhaustive", "long"}  # suites that scripts/check leaves to --full, ...
# ... but for these programs
CORE_CLIENTS = ["cm", "cm-others", "connections", "devinfo", "iwarp", "mpi", "netlink", "nfs", "nvme", "pingpong",
                "rsocket", "scale", "soak", "top", "unprivileged"]
QUICK_BUILD = ["-Doptimization=1"]  # for sanitizers: builds in two thirds of the time, runs nearly as fast

# If CI is set, a skipped test of these suites counts as failed, because a CI machine can run them all.
# MAY_SKIP has the exceptions, as 'step: name: reason'.
MUST_RUN = {"check", "cli", "clients", "daemon", "device", "learn", "link", "progress", "rdmacm", "verbs"}
MAY_SKIP = re.compile(r": already without privilege"
                      r"|^asan: explain/test_strings_are_those_of_the_library:"
                      r"|^[at]san: daemon-(detached/(little_memory|small_files_for_good)"
                      r"|survivors/container_ends):"
                      # ThreadSanitizer: no threads in a child
                      r"|^tsan: (fork/child|daemon_stopped/test_both_killed"
                      r"|(device|device-shm|rdmacm-rsocket|rdmacm-rsocket-iwarp)/\w*fork)"
                      # scripts/install-deps installs them where that starts no service
                      r"|: metrics/[\w-]+: (promtool|prometheus|prometheus-node-exporter) is not installed"
                      r"|: this iperf3 waits before its first read,"
                      # some kernels lack the queueing discipline tbf, and VLAN devices
                      r"|: udp_wire/test_full_socket:|: raw/test_(vlan_priority|full_socket|refused_by_queue):")
# Suites with real processes, sockets and clocks, which a shared machine may stop for seconds. If a test of
# these fails without a sanitizer's report and then passes alone, it counts as passed, is called
# "unstable", and its output is printed. Every other test runs once.
SECOND_CHANCE = {"check", "cli", "clients", "daemon", "device", "learn", "link", "progress", "rdmacm", "verbs"}
FATAL = re.compile(r"Sanitizer|: runtime error: |Assertion .* failed|Segmentation|signal 11")
# The line with which a runner (of clients or daemon, cmocka, unittest) reports a skipped case.
SKIPPED_CASE = re.compile(r"^skip (?P<client>\S+) \([\d.]+ s\)(?: skip:)? ?(?P<client_why>.*)$"
                          r"|^(?P<daemon>\w+): skipped: (?P<daemon_why>.*) \([\d.]+ s\)$"
                          r"|^\[  SKIPPED \] (?P<unit>\w*[a-z]\w*)$"
                          r"|^(?P<python>test_\w+) \(\S+\)(?:\n.*)? \.\.\. skipped '(?P<python_why>.*)'$", re.M)


class Broken(Exception):
    """A step failed."""


class Tally:
    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skipped = {}  # by step and suite: names with reasons
        self.unstable = []

    def good(self):
        self.passed += 1

    def bad(self, what):
        self.failures.append(what)
        print(f"FAILED: {what}", flush=True)

    def skip(self, step, suite, name, why):
        self.skipped.setdefault(f"{step}, suite {suite}", []).append(f"{name}: {why}")
        what = f"{step}: {name}: {why}"
        if os.environ.get("CI") and MUST_RUN & set(suite.split("+")) and not MAY_SKIP.search(what):
            self.bad(f"{what} (skipped)")

    def print_skipped(self):
        for group, lines in self.skipped.items():
            print(f"skipped: {len(lines)} of {group}")
            for line in lines:
                print(f"  {line}")


def run(command, log, seconds, env=None):
    """Runs a command with its output in a log; returns the output. Raises Broken if it fails or hangs."""
    TOP.mkdir(exist_ok=True)
    path = TOP / f"{log}.log"
    shown = " ".join(map(str, command))
    if len(shown) > 300:
        shown = f"{shown[:300]}... ({len(command)} words)"
    print(f"$ {shown}  > {path.relative_to(ROOT)}", flush=True)
    with open(path, "wb") as out:
        process = subprocess.Popen([str(c) for c in command], cwd=ROOT, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                                   env=dict(os.environ, LC_ALL="C.UTF-8", **(env or {})))
        try:
            status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Broken(f"ran out of time: no end within {seconds} s; the end of its output:\n" +
                         "\n".join(path.read_text(errors="replace").splitlines()[-60:])) from None
    text = path.read_text(errors="replace")
    if status != 0:
        raise Broken(f"exit status {status}; the end of its output:\n" +
                     "\n".join(text.splitlines()[-60:]))
    return text


def configure(name, options, compiler="gcc"):
    """Sets up build-check/NAME unless that was done before; returns it."""
    build = TOP / name
    if not (build / "build.ninja").exists():
        run(["meson", "setup", build, *options], f"{name}-setup", SMALL, env={"CC": compiler})
    return build


def ninja(build, targets=()):
    run(["nice", "-n", str(BUILD_NICENESS), "ninja", "--quiet", "-C", build, *targets],
        f"{build.name}-build", LARGE)


def compile_all(name, options, compiler="gcc"):
    """Configures and builds, with warnings as errors; returns the build directory."""
    build = configure(name, options, compiler)
    ninja(build)
    return build


def introspect(build, what):
    return json.loads((build / "meson-info" / f"intro-{what}.json").read_text())


def suites_of(test):
    return {suite.split(":")[-1] for suite in test["suite"]}


def compile_some(name, options, wanted, compiler="gcc"):
    """As compile_all(), but builds only the product and the targets that wanted(id, file) selects."""
    build = configure(name, options, compiler)
    chosen = []
    for target in introspect(build, "targets"):
        file = os.path.relpath(target["filename"][0], build)
        if os.path.dirname(file) in ("", "lib") or wanted(target["id"], file):
            chosen.append(file)
    ninja(build, chosen)
    return build


def compile_for_tests(name, options, wanted):
    """As compile_some(), for the tests whose suites wanted() selects."""
    build = configure(name, options)
    needed = {target for test in introspect(build, "tests") if wanted(suites_of(test))
              for target in test["depends"]}
    return compile_some(name, options, lambda target, _: target in needed)


def skips_of(test, name):
    """Returns {name: reason} of the skipped cases of a test, or of the test."""
    output = test.get("stdout", "") + "\n" + test.get("stderr", "")
    skips = {}
    for found in SKIPPED_CASE.finditer(output):
        case = found["client"] or f"{name}/{found['daemon'] or found['unit'] or found['python']}"
        skips[case] = (found["client_why"] or found["daemon_why"] or found["python_why"]
                       or "no reason given")
    if test["result"] == "SKIP" and not skips:
        said = output.strip().splitlines() or ["no reason given"]
        skips[name] = re.sub(r"^skip(ped)?: ", "", said[-1])
    return skips


def results_of(build, log):
    path = build / "meson-logs" / f"{log}.json"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def print_output(test):
    output = (test.get("stdout", "") + "\n" + test.get("stderr", "")).strip().splitlines()
    print(f"--- {test['name']}: {test['result']}; the end of its output:")
    print("\n".join(f"    {line[:300]}" for line in output[-60:]), flush=True)


def passes_alone(name, build, test, command, env):
    """Runs a failed test again, alone."""
    suite, _, short = test["name"].rpartition(" / ")
    said = test.get("stdout", "") + test.get("stderr", "")
    if not SECOND_CHANCE & set(re.split(r"[:+]", suite)) or FATAL.search(said):
        return False
    log = f"{name}-again"
    (build / "meson-logs" / f"{log}.json").unlink(missing_ok=True)
    try:
        run([*command, "--logbase", log, "--num-processes", "1", short], f"{log}-test", LARGE, env)
    except Broken:
        pass
    again = [t for t in results_of(build, log) if t["name"] == test["name"]]
    return bool(again) and all(t["result"] in GOOD for t in again)


def run_tests(tally, name, build, choice, wrapper=(), env=None, slower=1):
    """Runs the chosen tests with `slower` times the usual limits, and counts each."""
    error = None
    (build / "meson-logs" / f"{name}.json").unlink(missing_ok=True)
    # one more than there are processors: many tests mostly wait
    command = [*wrapper, "meson", "test", "-C", build, "--no-rebuild", "-t", str(PATIENCE * slower),
               "--num-processes", str(os.cpu_count() + 1)]
    try:
        run([*command, "--logbase", name, *choice], f"{name}-test", LARGE, env)
    except Broken as broken:
        error = broken
    tests = results_of(build, name)
    bad = 0
    for test in tests:
        if test["result"] in GOOD:
            tally.good()
        elif test["result"] != "SKIP":
            print_output(test)
            if passes_alone(name, build, test, command, env):
                tally.good()
                tally.unstable.append(f"{name}: {test['name']}")
            else:
                tally.bad(f"{name}: {test['name']}: {test['result']}")
            bad += 1
        suite, _, short = test["name"].rpartition(" / ")  # as 'adverb:daemon / daemon-gids'
        for skipped, why in skips_of(test, short).items():
            tally.skip(name, suite.split(":")[-1], skipped, why)
    print(f"{name}: {len(tests)} tests")
    if error and not bad:
        raise error
    if not tests:
        raise Broken("no test was run")


def each(option, values):
    """The option with each of the values, as words of a command."""
    return [word for value in sorted(values) for word in (option, value)]


def compile_gcc():
    return compile_all("gcc", [])


def compile_clang():
    return compile_all("clang", [], compiler="clang")


def compile_release():
    # The recorded instruction counts are those of a release build.
    build = configure("release", ["--buildtype=release", "-Dtests=false"])
    ninja(build, ["bench-all"])
    return build


def compile_asan():
    return compile_for_tests("asan", ["-Db_sanitize=address,undefined", "-Db_lundef=false",
                                      *QUICK_BUILD], lambda suites: not NOT_ASAN & suites)


def compile_tsan():
    # -Wno-tsan: gcc warns about fences, which ThreadSanitizer does not support
    return compile_for_tests("tsan", ["-Db_sanitize=thread", "-Db_lundef=false", "-Dc_args=-Wno-tsan",
                                      *QUICK_BUILD], THREADED.intersection)


def compile_coverage():
    # Threads that count without atomic operations can leave negative counts, which gcovr refuses.
    return compile_for_tests("coverage", ["-Db_coverage=true", "--buildtype=debug",
                                          "-Dc_args=-fprofile-update=atomic"], set(COVERED).intersection)


def compile_fuzz():
    return compile_some("fuzz", ["-Dfuzzers=true", "-Db_lundef=false", *QUICK_BUILD],
                        lambda _, file: file.startswith("tests/fuzz/fuzz_"), compiler="clang")


# The builds, each with the first step that needs it, in the order of the steps.
BUILDS = {
    "gcc": compile_gcc,
    "clang": compile_clang,
    "instructions": compile_release,
    "asan": compile_asan,
    "tsan": compile_tsan,
    "coverage": compile_coverage,
    "fuzz": compile_fuzz,
}


class Builder:
    """Makes builds one after another in a thread, while the tests of earlier builds run."""

    def __init__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.begun = {}

    def begin(self, steps):
        """Puts the builds that these steps need into the queue."""
        for name in BUILDS:
            if name in {BUILD_OF.get(step, step) for step in steps} and name not in self.begun:
                self.begun[name] = self.pool.submit(BUILDS[name])

    def directory(self, name):
        """Waits for a build and returns its directory. Raises what the build raised."""
        self.begin([name])
        return self.begun[name].result()

    def stop(self):
        """Cancels the builds that have not begun."""
        self.pool.shutdown(cancel_futures=True)


BUILDER = Builder()


def step_gcc(tally):
    build = BUILDER.directory("gcc")
    tally.good()
    run_tests(tally, "gcc-unit", build, ["--no-suite", "clients"])


def step_clients(tally):
    build = BUILDER.directory("gcc")
    run_tests(tally, "clients", build, ["--suite", "clients"])


def step_core(tally):
    build = BUILDER.directory("gcc")
    tally.good()
    run_tests(tally, "core", build, each("--no-suite", NOT_CORE))
    run_tests(tally, "core-clients", build, ["--suite", "clients", *CORE_CLIENTS])
    tests = introspect(build, "tests")
    left = [test["name"] for test in tests if NOT_CORE & suites_of(test) and test["name"] not in CORE_CLIENTS]
    print(f"left out (scripts/check --full runs them): {', '.join(sorted(left))}")


def changed_files():
    """The files that differ from the upstream branch, or from the last commit if there is none."""
    git = ["git", "-c", f"safe.directory={ROOT}"]
    base = subprocess.run([*git, "merge-base", "HEAD", "@{upstream}"], cwd=ROOT, check=False, capture_output=True,
                          text=True).stdout.strip() or "HEAD"
    out = subprocess.run([*git, "diff", "--name-only", "-z", base], cwd=ROOT, check=True, capture_output=True, text=True)
    new = subprocess.run([*git, "ls-files", "-z", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                         capture_output=True, text=True)
    return [name for name in (out.stdout + new.stdout).split("\0") if name]


def suites_to_run(files, known):
    """The suites that test changed files. known: all suites of the build."""
    wanted = set()
    for file in files:
        parts = file.split("/")
        if parts[0] == "src":
            wanted.update(suites_of_source(file))
        elif parts[0] == "tests":
            wanted.update(known.intersection(parts) or suites_of_source(file.replace("tests", "src", 1)))
        elif parts[0] == "scripts":
            wanted.add("scripts")
    return sorted(wanted & known - NOT_CORE)


def step_changed(tally):
    build = configure("gcc", [])
    known = {suite for test in introspect(build, "tests") for suite in suites_of(test)}
    files = changed_files()
    suites = suites_to_run(files, known)
    print(f"{len(files)} files were changed; suites: {' '.join(suites) or 'none'}")
    if not suites:
        return
    compile_for_tests("gcc", [], lambda of_test: of_test & set(suites) and not of_test & NOT_CORE)
    tally.good()
    run_tests(tally, "changed", build, [*each("--suite", suites), *each("--no-suite", NOT_CORE)])


def step_clang(tally):
    build = BUILDER.directory("clang")
    tally.good()
    # Simulations must give the same output with every compiler.
    run_tests(tally, "clang", build, ["digests"])


def step_asan(tally):
    build = BUILDER.directory("asan")
    env = {"ASAN_OPTIONS": "abort_on_error=1:detect_stack_use_after_return=1",
           "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1"}
    run_tests(tally, "asan", build, each("--no-suite", NOT_ASAN), env=env, slower=5)


def step_tsan(tally):
    build = BUILDER.directory("tsan")
    suites = sorted(THREADED & {suite for test in introspect(build, "tests")
                                for suite in suites_of(test)})
    choice = each("--suite", suites)
    if not choice:
        raise Broken(f"no threaded tests found (suites {', '.join(sorted(THREADED))})")
    # ThreadSanitizer needs fixed addresses: switch randomization off if that is permitted
    fixed = ["setarch", "-R"]
    if subprocess.run([*fixed, "true"], check=False, capture_output=True).returncode != 0:
        fixed = []
    env = {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:history_size=7:"
                           f"suppressions={ROOT / 'tests' / 'common' / 'tsan.supp'}"}
    run_tests(tally, "tsan", build, choice, wrapper=fixed, env=env, slower=10)


def fuzz_targets(build):
    folder = build / "tests" / "fuzz"
    return sorted(p for p in folder.glob("fuzz_*") if p.is_file() and os.access(p, os.X_OK)
                  and p.suffix == "")


def fuzz_found(target):
    return TOP / "fuzz-found" / target.name


def fuzz(target):
    """Runs a target for FUZZ_SECONDS, with its findings in fuzz_found(); returns the failure, or None."""
    found = fuzz_found(target)
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    corpus = ROOT / "tests" / "fuzz" / "corpus" / target.name.removeprefix("fuzz_")
    seeds = [corpus] if corpus.is_dir() else []
    try:
        run([target, f"-max_total_time={FUZZ_SECONDS}", "-rss_limit_mb=2048", "-timeout=25",
             "-entropic=0", "-max_len=4097", f"-artifact_prefix={found}/crash-", found, *seeds],
            f"fuzz-{target.name}", FUZZ_SECONDS + SMALL)
    except Broken as broken:
        return broken
    return None


def step_fuzz(tally):
    build = BUILDER.directory("fuzz")
    targets = fuzz_targets(build)
    if not targets:
        raise Broken("no fuzz targets")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for target, wrong in zip(targets, pool.map(fuzz, targets)):
            if wrong:
                print(wrong)
                tally.bad(f"fuzz: {target.name} (input in {fuzz_found(target).relative_to(ROOT)})")
            else:
                tally.good()


def step_instructions(_):
    build = BUILDER.directory("instructions")
    print(run(["bench/count-instructions", "--build", build, "--check", "--idle-qps", "1000"],
              "instructions", SMALL))


def step_coverage(tally):
    build = BUILDER.directory("coverage")
    for data in build.rglob("*.gcda"):
        data.unlink()
    run_tests(tally, "coverage", build, each("--suite", COVERED))
    for suite, folders in sorted(COVERED.items()):
        filters = [word for folder in folders for word in ("--filter", f"{ROOT}/src/{folder}/")]
        text = run(["gcovr", "--root", ROOT, "--gcov-ignore-parse-errors", *filters, "--txt", "-", build],
                   f"coverage-{suite}", SMALL)
        total = re.search(r"^TOTAL\s+\d+\s+\d+\s+(\d+)%", text, re.M)
        if not total:
            raise Broken(f"gcovr has no total for {suite}:\n{text}")
        print("\n".join(text.splitlines()[4:]))
        if float(total.group(1)) < COVERAGE_WANTED:
            tally.bad(f"coverage: {suite} has {total.group(1)} % of its lines tested, "
                      f"{COVERAGE_WANTED:.0f} wanted")
        else:
            tally.good()


def tracked(*patterns):
    out = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--", *patterns],
                         cwd=ROOT, check=True, capture_output=True).stdout.decode()
    return [name for name in out.split("\0") if name and (ROOT / name).exists()]


def step_includes(tally):
    run(["scripts/check-includes", "--self-test"], "includes-self-test", SMALL)
    tally.good()
    print(run(["scripts/check-includes"], "includes", SMALL).splitlines()[-1])


def step_names(tally):
    run(["scripts/check-names", "--self-test"], "names-self-test", SMALL)
    tally.good()
    print(run(["scripts/check-names"], "names", SMALL).splitlines()[-1])


def step_lengths(tally):
    run(["scripts/check-lengths", "--self-test"], "lengths-self-test", SMALL)
    tally.good()
    print(run(["scripts/check-lengths"], "lengths", SMALL).splitlines()[-1])


def step_docs(tally):
    run(["scripts/check-docs", "--self-test"], "docs-self-test", SMALL)
    tally.good()
    print(run(["scripts/check-docs"], "docs", SMALL).splitlines()[-1])


def step_spdx(_):
    print(run(["scripts/check-spdx"], "spdx", SMALL).splitlines()[-1])


def clang_format():
    """The program clang-format of version CLANG_FORMAT, or None. Other versions format differently."""
    for name in (f"clang-format-{CLANG_FORMAT}", "clang-format"):
        if shutil.which(name):
            said = subprocess.run([name, "--version"], check=False, capture_output=True).stdout.decode()
            if re.search(rf"version {CLANG_FORMAT}\.", said):
                return name
    return None


def step_format(tally):
    files = tracked("*.c", "*.h")
    if not files:
        raise Broken("no C files found")
    program = clang_format()
    if not program:
        tally.skip("format", "format", "clang-format", f"version {CLANG_FORMAT} (Debian 12) is not installed")
        return
    run([program, "--dry-run", "-Werror", *files], "format", SMALL)


def step_shellcheck(_):
    scripts = [name for name in tracked("scripts", ".ci", "tests", "bench", "packaging")
               if (ROOT / name).read_bytes()[:64].split(b"\n")[0].endswith((b"bash", b"/bin/sh"))]
    run(["shellcheck", *scripts], "shellcheck", SMALL)


def step_man(_):
    pages = tracked("docs/man/*.1", "docs/man/*.3", "docs/man/*.5", "docs/man/*.7", "docs/man/*.8")
    if not pages:
        raise Broken("no man pages found")
    text = run(["groff", "-man", "-Tutf8", "-ww", "-z", *pages], "man", SMALL)
    if text.strip():
        raise Broken(f"groff warns:\n{text}")


def run_cases(tally, log, command):
    """Runs a program that prints a line for each case, and how many failed. Counts each case."""
    try:
        text = run(command, log, HUGE)
    except Broken:
        text = (TOP / f"{log}.log").read_text(errors="replace")
    for status, name, note in re.findall(r"^(ok|FAIL|skip) +(\S+)(.*)$", text, re.M):
        print(f"{status:4} {name}{note}")
        if status == "ok":
            tally.good()
        elif status == "FAIL":
            tally.bad(f"{log}: {name} (build-check/{log}.log)")
        else:
            tally.skip(log, log, name, "see its log")
    if not re.search(r"^\d+ \w+, .*\b\d+ failed", text, re.M):
        raise Broken("it did not finish:\n" + "\n".join(text.splitlines()[-30:]))


def step_commands(tally):
    run_cases(tally, "commands", ["tests/docs/run", "--build", BUILDER.directory("gcc")])


def step_kernel(tally, release):
    run_cases(tally, f"kernel-{release}",
              ["tests/kernel/run", "--build", BUILDER.directory("gcc"), "--release", release])


def step_packages(tally, release):
    """tests/packages/run, which needs root and the network."""
    run_cases(tally, f"packages-{release}", ["tests/packages/run", "--release", release])


STEPS = {
    "includes": step_includes,
    "names": step_names,
    "lengths": step_lengths,
    "docs": step_docs,
    "spdx": step_spdx,
    "format": step_format,
    "shellcheck": step_shellcheck,
    "man": step_man,
    "core": step_core,
    "changed": step_changed,
    "gcc": step_gcc,
    "clients": step_clients,
    "commands": step_commands,
    "clang": step_clang,
    "instructions": step_instructions,
    "asan": step_asan,
    "tsan": step_tsan,
    "coverage": step_coverage,
    "fuzz": step_fuzz,
    # These download an emulator and take long.
    "kernel-bookworm": lambda tally: step_kernel(tally, "bookworm"),
    "kernel-trixie": lambda tally: step_kernel(tally, "trixie"),
    # These make fresh roots of Debian and take long.
    "packages-bookworm": lambda tally: step_packages(tally, "bookworm"),
    "packages-trixie": lambda tally: step_packages(tally, "trixie"),
}
BUILD_OF = dict.fromkeys(["core", "clients", "commands", "kernel-bookworm", "kernel-trixie"], "gcc")  # steps that use the build of another
# Steps that count each of their tests; the step itself counts only if it breaks.
COUNT_THEMSELVES = {"core", "changed", "gcc", "clang", "clients", "commands", "asan", "tsan", "coverage", "fuzz",
                    "kernel-bookworm", "kernel-trixie", "packages-bookworm", "packages-trixie"}


def run_step(tally, name):
    print(f"\n== {name}", flush=True)
    start = time.monotonic()
    before = len(tally.failures)
    try:
        STEPS[name](tally)
        if name not in COUNT_THEMSELVES and len(tally.failures) == before:
            tally.good()
    except Broken as broken:
        print(broken)
        if len(tally.failures) == before:
            tally.bad(name)
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc(file=sys.stdout)
        tally.bad(f"{name}: crashed")
    print(f"-- {name}: {time.monotonic() - start:.0f} s", flush=True)


def main(names):
    tally = Tally()
    BUILDER.begin(names)
    try:
        for name in names:
            run_step(tally, name)
    finally:
        BUILDER.stop()
    print()
    tally.print_skipped()
    for what in tally.unstable:
        print(f"unstable: {what}: failed once, passed alone")
    for what in tally.failures:
        print(f"failed: {what}")
    print(f"{tally.passed} passed, {len(tally.failures)} failed")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
