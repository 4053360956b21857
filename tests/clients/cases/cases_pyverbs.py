# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""rdma-core's own tests in Python, as Debian ships them with python3-pyverbs."""

import gzip
import pathlib
import re
import shutil

from harness import Failure, Skip, case, need_tool

SHIPPED = pathlib.Path("/usr/share/doc/rdma-core/tests")

# Test modules, and the number of tests that must pass; the others are skipped because they need features
# of certain cards.
MODULES = {
    "test_addr": 1,
    "test_atomic": 9,
    "test_cq": 4,
    "test_cqex": 5,
    "test_device": 20,
    "test_mr": 17,
    "test_odp": 15,
    "test_parent_domain": 5,
    "test_pd": 3,
    "test_qp": 5,
    "test_rdmacm": 10,
    "test_qpex": 20,
    "test_relaxed_ordering": 3,
}


def unpack(lab):
    if not SHIPPED.is_dir():
        raise Skip(f"{SHIPPED} is not installed")
    target = lab.dir / "tests"
    target.mkdir()
    for path in SHIPPED.iterdir():
        if path.suffix == ".gz":
            (target / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        elif path.suffix == ".py":
            shutil.copy(path, target / path.name)


def register(module, wanted):
    @case("pyverbs", module.removeprefix("test_"), seconds=180)
    def run(lab):
        need_tool("python3")
        unpack(lab)
        runner = str(lab.dir / "tests" / "run_tests.py")
        process = lab.start(["/usr/bin/python3", runner, "-v", "--dev", "adverb0",
                             f"tests.{module}"])
        status = process.wait(170)
        text = process.output()
        total = re.search(r"^Ran (\d+) tests? in", text, re.M)
        skipped = len(re.findall(r"\.\.\. skipped", text))
        if status != 0 or not total:
            raise Failure(process.describe())
        passed = int(total.group(1)) - skipped
        print(f"{passed} passed, {skipped} skipped")
        if passed < wanted:
            raise Failure(f"only {passed} passed, {wanted} must:\n{process.describe()}")


for one_module, at_least in MODULES.items():
    register(one_module, at_least)
