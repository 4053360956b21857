#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`adverb explain`, docs/errors.md and the headers say the same.

usage: test_explain.py ADVERB [LIBIBVERBS]
"""

import ctypes
import json
import pathlib
import re
import subprocess
import sys
import unittest

from limits import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VERBS_H = pathlib.Path("/usr/include/infiniband/verbs.h")
CMA_H = pathlib.Path("/usr/include/rdma/rdma_cma.h")
ADVERB = sys.argv[1]
LIBIBVERBS = sys.argv[2] if len(sys.argv) > 2 else None
NEVER = "only a fault plan reports it"


def explain(*args):
    """Runs `adverb explain`. Returns exit status, standard output and standard error."""
    done = subprocess.run([ADVERB, "explain", *args], capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


def rows(table):
    """Returns the cells of each row of a Markdown table, without its head."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")]
            for line in table.splitlines()[2:]]


def enumerators(path, enum):
    """Returns the names of a C enumeration in order, without their prefix."""
    body = re.search(r"enum " + enum + r" \{(.*?)\};", path.read_text(), re.S).group(1)
    return re.findall(r"^\s*(?:IBV_WC|IBV_EVENT|ADV_ERR)_(\w+)", body, re.M)


TABLES = explain("--markdown")[1].strip().split("\n\n")
STATUSES, CAUSES, EVENTS, CM_EVENTS, REJECTS, CALLS = (rows(table) for table in TABLES)


def bare(name):
    return re.sub("^(IBV_WC|IBV_EVENT)_", "", name.strip("`"))


class Tables(unittest.TestCase):
    def test_documentation_has_the_tables(self):
        text = (ROOT / "docs/errors.md").read_text()
        for table in TABLES:
            self.assertIn("\n\n" + table + "\n", text,
                          "docs/errors.md is to have the tables of `adverb explain --markdown`")

    def test_numbers_and_names_are_those_of_the_headers(self):
        wanted = ((STATUSES, VERBS_H, "ibv_wc_status"), (EVENTS, VERBS_H, "ibv_event_type"),
                  (CAUSES, ROOT / "src/nic/engine/cause.h", "adv_vendor_err"))
        for table, header, enum in wanted:
            names = enumerators(header, enum)[:len(table)]
            self.assertEqual([[str(i), n] for i, n in enumerate(names)],
                             [[row[0], bare(row[1])] for row in table])
        self.assertEqual(len(CAUSES), len(enumerators(ROOT / "src/nic/engine/cause.h",
                                                      "adv_vendor_err")))

    def test_events_of_the_connection_manager_are_those_of_the_headers(self):
        body = re.search(r"enum rdma_cm_event_type \{(.*?)\};", CMA_H.read_text(), re.S).group(1)
        names = re.findall(r"(RDMA_CM_EVENT_\w+)", body)[:len(CM_EVENTS)]
        self.assertEqual([[str(i), f"`{n}`"] for i, n in enumerate(names)], [row[:2] for row in CM_EVENTS])
        self.assertEqual(len(CM_EVENTS), 16)
        text = (ROOT / "src/nic/wire/cm_message.h").read_text()
        self.assertEqual([row[:2] for row in REJECTS],
                         [[n, f"`{name}`"] for name, n in re.findall(r"ADV_CM_REJ_([A-Z_]+) = (\d+)", text)])

    def test_errnos_of_calls_are_those_that_the_tests_provoke(self):
        """tests/abi/verbs/errno_calls.c makes calls fail; where the table has the call, it has the errno."""
        text = (ROOT / "tests/abi/verbs/errno_calls.c").read_text()
        known = {}
        for call, error, _ in CALLS:
            known.setdefault(call.strip("`"), set()).add(error.strip("`"))
        provoked = re.findall(r'\{"(?:ibv_)?(\w+)", \w+, (E\w+),', text)
        checked = [(call, error) for call, error in provoked
                   if "ibv_" + call in known and error != "EIO"]  # EIO: in a child of fork()
        self.assertGreater(len(checked), 12)
        for call, error in checked:
            self.assertIn(error, known["ibv_" + call], call)

    def test_what_is_reported_has_a_cause(self):
        """Each status and event that can occur belongs to a cause. tests/nic/engine/test_cause.c makes
        each of them occur."""
        used = {name for row in CAUSES for name in row[4].split()}
        for row in STATUSES:
            self.assertEqual(row[1] in used, row[3] != NEVER, row)
        for row in EVENTS:
            if row[3] == NEVER:
                self.assertNotIn(row[1], used)

    def test_a_plan_can_say_so(self):
        """A fault plan (docs/faults.md) can name each error and event of docs/errors.md."""
        for action, table in (("complete", STATUSES[1:]), ("event", EVENTS)):
            for row in table:
                name = row[1].strip("`")
                done = subprocess.run([ADVERB, "run", "--fault", f"{action}={name}", "--", "true"],
                                      capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"{action}={bare(name)}", done.stderr)

    def test_strings_are_those_of_the_library(self):
        if not LIBIBVERBS:
            self.skipTest("no library that can be loaded here")
        library = ctypes.CDLL(LIBIBVERBS)
        for function, table in (("ibv_wc_status_str", STATUSES), ("ibv_event_type_str", EVENTS)):
            call = getattr(library, function)
            call.restype = ctypes.c_char_p
            for row in table:
                status, out, _ = explain(row[1].strip("`"))
                self.assertEqual(status, 0)
                self.assertTrue(out.splitlines()[0].endswith(": " + call(int(row[0])).decode()),
                                out)


class Command(unittest.TestCase):
    def test_pairs(self):
        status, out, _ = explain("12/7")
        self.assertEqual(status, 0)
        self.assertIn("IBV_WC_RETRY_EXC_ERR (status 12)", out)
        self.assertIn("ADV_ERR_TIMEOUT (vendor_err 7)", out)
        self.assertEqual(explain("IBV_WC_RETRY_EXC_ERR/timeout"), (status, out, ""))

    def test_pairs_that_are_not_ours(self):
        status, out, _ = explain("12/129")
        self.assertEqual(status, 1)
        self.assertIn("vendor_err 129: not one of Adverb's", out)
        status, out, _ = explain("12/2")
        self.assertEqual(status, 1)
        self.assertIn("do not go together", out)

    def test_each_way_to_call_it(self):
        wanted = explain("IBV_WC_RETRY_EXC_ERR")
        for name in ("retry_exc_err", "ibv_wc_retry_exc_err", "transport retry counter exceeded"):
            self.assertEqual(explain(name), wanted)
        self.assertIn("7 TIMEOUT", wanted[1])

    def test_a_number_is_all_that_have_it(self):
        _, out, _ = explain("2")
        for name in ("IBV_WC_LOC_QP_OP_ERR", "ADV_ERR_LKEY", "IBV_EVENT_QP_REQ_ERR"):
            self.assertIn(name, out)

    def test_connection_manager(self):
        status, out, _ = explain("RDMA_CM_EVENT_REJECTED/8")
        self.assertEqual(status, 0)
        self.assertIn("IB_CM_REJ_INVALID_SERVICE_ID (reject reason 8)", out)
        self.assertEqual(explain("rejected/invalid_service_id")[1], out)
        self.assertIn(explain("INVALID_SERVICE_ID")[1], out)
        status, out, _ = explain("RDMA_CM_EVENT_UNREACHABLE/-110")
        self.assertEqual(status, 0)
        self.assertIn("status -110: Connection timed out", out)
        self.assertIn("firewall for UDP port 4791", explain("UNREACHABLE")[1])
        for wrong in ("REJECTED/34", "REJECTED/-1", "REJECTED/x", "UNREACHABLE/8", "UNREACHABLE/-"):
            self.assertEqual(explain(wrong)[0], 2, wrong)

    def test_calls(self):
        status, out, _ = explain("ibv_post_send")
        self.assertEqual((status, len(out.splitlines())), (0, 2))
        self.assertIn("the send queue is full", explain("ibv_post_send/ENOMEM")[1])
        self.assertEqual(explain("ibv_post_send/12"), explain("ibv_post_send/ENOMEM"))
        self.assertIn("ibv_destroy_cq, errno 16", explain("EBUSY")[1])
        for wrong in ("ibv_post_send/EBUSY", "ibv_post_send/", "ibv_post_send/x", "EXYZ"):
            self.assertEqual(explain(wrong)[0], 2, wrong)

    def test_json(self):
        status, text, _ = explain("--json", "12/7")
        self.assertEqual(status, 0)
        pair = json.loads(text)
        self.assertEqual([s["name"] for s in pair["statuses"]], ["IBV_WC_RETRY_EXC_ERR"])
        self.assertEqual([c["name"] for c in pair["causes"]], ["TIMEOUT"])
        self.assertIn("IBV_WC_RETRY_EXC_ERR", pair["causes"][0]["statuses"])
        _, text, _ = explain("--json", "RDMA_CM_EVENT_REJECTED/8")
        self.assertEqual([*json.loads(text)], ["cm-events", "rejects"])
        _, text, _ = explain("--json", "ibv_modify_qp/EINVAL")
        self.assertEqual({(c["call"], c["name"]) for c in json.loads(text)["calls"]},
                         {("ibv_modify_qp", "EINVAL")})
        self.assertEqual(explain("--json", "nonsense")[:2], (2, ""))
        self.assertEqual(explain("--json", "--markdown")[0], 2)

    def test_json_lists_what_the_tables_list(self):
        every = json.loads(explain("--json")[1])
        listed = explain()[1]
        for key in ("statuses", "causes", "events", "cm-events", "rejects"):
            self.assertGreater(len(every[key]), 10)
            for one in every[key]:
                self.assertRegex(listed, rf"(?m)^ *{one['number']}  {one['name']} ")
                self.assertTrue(one.get("to-do") or one.get("only-by-fault-plan"), one)
        for one in every["calls"]:
            self.assertIn(f"{one['call']}, errno {one['errno']} ", listed)

    def test_unknown(self):
        for name in ("nothing", "", "-1", "9999999999999999999999", "12/", "/7", "nothing/7", "7x"):
            status, out, err = explain("--", name)
            self.assertIn(status, (1, 2), name)
            self.assertTrue(err if status == 2 else "not one of" in out, name)
        self.assertEqual(explain("1", "2")[0], 2)

    def test_list(self):
        status, out, _ = explain()
        self.assertEqual(status, 0)
        for table in (STATUSES, CAUSES, EVENTS):
            for row in table:
                self.assertIn(row[1].strip("`"), out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
