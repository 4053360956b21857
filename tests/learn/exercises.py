# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Solves the exercises of docs/learn, and checks the results that the pages promise.

An exercise is a change of a program, or none; a command; and texts of its output. ./PROGRAM in the command
is the changed program.
"""

import re
import subprocess

CHECK = "adverb check -- ./PROGRAM"
RUN = "adverb run ./PROGRAM"
HANGS = "timeout -k 5 1 "  # before a command that does not end by itself

# After a program in the background with its output in `log`.
STAYS = "until grep -q stays log; do sleep 0.05; done; cat log; adverb stat --pid $!; kill $!"

# (lesson, exercise): [(file, text, its replacement), ...], command, [regular expression, ...]
EXERCISES = {
    ("01-first-send", 1): (
        [("01-first-send.c", "\tpost_receive(to, mr);\n\tpost_send(from, mr);\n",
          "\tpost_send(from, mr);\n\tusleep(10000);\n\tpost_receive(to, mr);\n")],
        CHECK, ["6 bytes received: hello", "receive-queue-empty"]),
    ("01-first-send", 2): (
        [("01-first-send.c", ".length = SIZE", ".length = 4")],
        RUN, ["request 1: local length error", "request 2: remote invalid request error"]),
    ("01-first-send", 3): (
        [("01-first-send.c", '\tcheck(!ibv_dereg_mr(mr), "ibv_dereg_mr");\n', "")],
        RUN, ["ibv_dealloc_pd: Device or resource busy"]),
    ("01-first-send", 4): (
        [("01-first-send.c", "\tpost_send(from, mr);\n", '\tpost_send(from, mr);\n\tstrcpy(message[0], "other");\n')],
        CHECK, ["send-buffer-changed"]),
    ("02-states", 1): (
        [("02-states.c", "\tmodify_qp(b, &to_a, IBV_QPS_INIT, TO_INIT);\n", "")],
        "adverb run --log warn ./PROGRAM", ["ibv_post_recv: Invalid argument", "warn: .* is in RESET"]),
    ("02-states", 2): (
        [("02-states.c", "\tconnect_qp(a, &to_b);\n", "\tpost_send(b, 9);\n\tconnect_qp(a, &to_b);\n")],
        CHECK, ["ibv_post_send: Invalid argument", "post-in-wrong-state"]),
    ("02-states", 3): (
        [("02-states.c", '\tmodify_qp(b, &to_a, IBV_QPS_RESET, 0);\n\tshow_state(b, "b");\n',
          "\tmodify_qp(b, &to_a, IBV_QPS_RESET, 0);\n\tpost_send(a, 9);\n\tshow_completion(a->send_cq);\n")],
        RUN, ["request 9: transport retry counter exceeded"]),
    ("02-states", 4): (
        [("02-states.c", "\tmodify_qp(b, &to_a, IBV_QPS_INIT", "\tto_a.rq_psn ^= 1;\n\tmodify_qp(b, &to_a, IBV_QPS_INIT")],
        HANGS + CHECK, ["psn-mismatch"]),
    ("03-read-write", 1): (
        [("03-read-write.c", "\tpost_receive(p, 0, MEMORY);\n", "")],
        "adverb run ./PROGRAM & sleep 0.5; adverb explain --pid $!; kill $!", ["peer has no receive request posted"]),
    ("03-read-write", 2): (
        [("pair.h", "IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |", "IBV_ACCESS_LOCAL_WRITE |")],
        RUN, ["READ: remote access error"]),
    ("03-read-write", 3): (
        [("03-read-write.c", ".remote_addr = p->peer.address", ".remote_addr = p->peer.address + 100"),
         ("03-read-write.c", "\tcheck(n >= 0", '\tsay(p, "%s", p->memory + 100);\n\tcheck(n >= 0')],
        RUN, ["server: written\nserver: memory '', 0"]),
    ("03-read-write", 4): (
        [("03-read-write.c", ".remote_addr = p->peer.address", ".remote_addr = p->peer.address + 4090")],
        RUN, ["WRITE: remote access error"]),
    ("04-signaling", 1): (
        [("04-signaling.c", "IBV_SEND_INLINE", "0")], CHECK, ["send-buffer-changed"]),
    ("04-signaling", 2): (
        [("04-signaling.c", "#define EACH\t 8", "#define EACH\t 32")],
        HANGS + RUN + "; echo status $?", ["status 124"]),
    ("04-signaling", 3): (
        [("04-signaling.c", "#define EACH\t 8", "#define EACH\t 32"), ("04-signaling.c", "slots == 0", "0")],
        CHECK, ["ibv_post_send: Cannot allocate memory", "unsignaled-queue-full"]),
    ("04-signaling", 4): (
        [("04-signaling.c", "#define EACH\t 8", "#define EACH\t 1")], RUN, ["64 requests, 64 completions"]),
    ("05-atomics", 1): (
        [("05-atomics.c", "\tpair_connect(&p);\n",
          "\tstruct ibv_device_attr device;\n\tpair_connect(&p);\n\tibv_query_device(p.context, &device);\n"
          '\tsay(&p, "%d", device.atomic_cap);\n')],
        RUN, ["client: 1\n"]),
    ("05-atomics", 2): (
        [("05-atomics.c", "\t\tuint64_t value = atomic(p, qp, wr);\n",
          "\t\twr.opcode = IBV_WR_RDMA_READ;\n\t\twr.wr.rdma.remote_addr = address;\n\t\twr.wr.rdma.rkey = rkey;\n"
          "\t\tuint64_t value = atomic(p, qp, wr);\n\t\twr.opcode = IBV_WR_RDMA_WRITE;\n"
          "\t\t((struct words *)p->memory)->result++;\n\t\tatomic(p, qp, wr);\n")],
        RUN, [r"the counter is 1\d\d\d\n"]),
    ("05-atomics", 3): (
        [("05-atomics.c", "offsetof(struct words, lock)", "offsetof(struct words, lock) + 4")],
        RUN, ["atomic operation: remote invalid request error"]),
    ("05-atomics", 4): (
        [("05-atomics.c", '\tsay(p, "second swap: the lock was %d", (int)atomic(p, p->qp, swap));\n',
          '\tsay(p, "second swap: the lock was %d", (int)atomic(p, p->qp, swap));\n'
          "\tswap.wr.atomic.compare_add = 1;\n\tswap.wr.atomic.swap = 0;\n"
          '\tsay(p, "third swap: the lock was %d", (int)atomic(p, p->qp, swap));\n'
          "\tswap.wr.atomic.compare_add = 0;\n\tswap.wr.atomic.swap = 1;\n"
          '\tsay(p, "fourth swap: the lock was %d", (int)atomic(p, p->qp, swap));\n')],
        RUN, ["first .* 0\n.*second .* 1\n.*third .* 1\n.*fourth .* 0\n"]),
    ("06-events", 1): (
        [("06-events.c", "arm(p, 1)", "arm(p, 0)")], RUN, ["one solicited event, [123] completions"]),
    ("06-events", 2): (
        [("06-events.c", "IBV_SEND_SOLICITED);", "0);")],
        "adverb run ./PROGRAM & sleep 0.5; adverb res cq; kill $!", [r"\d+ +64 +3 "]),
    ("06-events", 3): (
        [("06-events.c", "\tarm(p, 0);\n\tmeet(p); /* 2 */\n",
          "\tmeet(p); /* 2 */\n\tusleep(100000);\n\tarm(p, 0);\n")],
        HANGS + CHECK, ["lost-wakeup"]),
    ("06-events", 4): (
        [("06-events.c", "\tibv_ack_cq_events(cq, 1);\n", "")], HANGS + CHECK, ["event-not-acknowledged"]),
    ("07-connect", 1): (
        [], "adverb run ./PROGRAM client 192.0.2.1", ["rdma_resolve_addr: Network is unreachable"]),
    ("07-connect", 2): (
        [("07-connect.c", "rdma_accept(id, NULL)", "rdma_reject(id, NULL, 0)")],
        "adverb run ./PROGRAM server >log & until [ -s log ]; do sleep 0.05; done\n"
        "adverb run ./PROGRAM client 127.0.0.1; kill $!", ["REJECTED, status 28"]),
    ("07-connect", 3): (
        [("07-connect.c", "mr && !rdma_post_recv(id, NULL, memory[0], SIZE, mr)", "mr != NULL"),
         ("07-connect.c", "\tcheck(!rdma_connect(", "\trdma_post_recv(id, NULL, memory[0], SIZE, mr);\n\tcheck(!rdma_connect("),
         ("07-connect.c", "\treceive_text(id);\n\tsend_text(",
          "\tusleep(50000);\n\trdma_post_recv(id, NULL, memory[0], SIZE, mr);\n\treceive_text(id);\n\tsend_text(")],
        "adverb check -- ./PROGRAM server >log & until [ -s log ]; do sleep 0.05; done\n"
        "adverb run ./PROGRAM client 127.0.0.1; wait", ["'good day, client'", "accept-without-receives"]),
    ("08-errors", 1): (
        [], CHECK + " length", ["receive-too-small", r"pair\.h"]),
    ("08-errors", 3): (
        [("lesson.h", "IBV_ACCESS_REMOTE_WRITE", "0"), ("08-errors.c", "~p->peer.rkey", "p->peer.rkey")],
        RUN + " rkey", [r"client: request 1: status 9 \(remote invalid request error\)"]),
    ("08-errors", 4): (
        [], "adverb run --fault 'complete=RETRY_EXC_ERR queue=send' -- ./PROGRAM call",
        [r"request 2: status 12 \(transport retry counter exceeded\), vendor_err 46"]),
    ("09-loss", 2): (
        [], "adverb run --fault 'drop=20% op=ack' -- ./PROGRAM ready", ["320 messages received"]),
    ("09-loss", 3): (
        [], "adverb run --fault 'reorder=5%' -- ./PROGRAM ready 9 &>log & " + STAYS,
        ["320 messages received", "packet_seq_err +[1-9]"]),
    ("09-loss", 4): (
        [], "adverb run --fault 'delay=2ms' -- ./PROGRAM ready 9 &>log & " + STAYS,
        ["320 messages received", "packet_seq_err +0\n"]),
    ("10-congestion", 1): (
        [], "adverb run --cc none --fault 'mark rx' ./PROGRAM 0.5; adverb stat", ["rp_cnp_handled +0\n"]),
    ("10-congestion", 2): (
        [], "adverb sim --set network.senders=8 --set flow.from=0-7 --set flow.to=8 ../scenarios/incast.ini",
        ["[1-9][0-9]* marked, 0 pause"]),
    ("10-congestion", 3): (
        [], "adverb sim --set flow.bytes=2MB ../scenarios/incast.ini", [" 88 pause"]),
    ("10-congestion", 4): (
        [], "adverb sim ../scenarios/victim.ini; "
        "adverb sim --set host.congestion-control=dcqcn ../scenarios/victim.ini",
        [r"0 .* \d\.\d+ Gb/s(.*\n)*0 .* 3\d\.\d+ Gb/s"]),
}


def changed(directory, changes):
    for file, old, new in changes:
        path = directory / file
        text = path.read_text()
        if old not in text:
            raise ValueError(f"{file} has no text {old!r}")
        path.write_text(text.replace(old, new, 1))


def solve(directory, lesson, number):
    """Solves an exercise in a directory with the examples; returns what is wrong, or an empty text."""
    changes, command, wanted = EXERCISES[lesson, number]
    changed(directory, changes)
    program = lesson[3:]
    command = (f"cc -g -o {program} {lesson}.c -lrdmacm -libverbs || exit\n" +
               command.replace("PROGRAM", program))
    done = subprocess.run(["bash", "-c", command], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, check=False)
    output = done.stdout.decode(errors="replace")
    missing = [text for text in wanted if not re.search(text, output)]
    return f"{lesson}, exercise {number}: no '{missing[0]}' in\n$ {command}\n{output}" if missing else ""
