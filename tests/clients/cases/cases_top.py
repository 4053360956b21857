# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`adverb top` in a terminal of tmux, and as a batch."""

import re
import shlex
import shutil

from cases_operator import adverb, perftest_pair, res, trouble
from cases_sysfs import same
from harness import Failure, case, need_tool


class Terminal:
    """A terminal of tmux that runs one command."""

    def __init__(self, lab, command, width, height):
        self.lab = lab
        self.tmux = f"{need_tool('tmux')} -S {lab.dir}/tmux"
        run = " ".join(shlex.quote(str(word)) for word in command)
        # The shell stays, so that the screen behind the program can be read.
        self.call(f"-f /dev/null new-session -d -x {width} -y {height} {shlex.quote(run + '; echo ended $?; exec cat')}")

    def call(self, words):
        return self.lab.system(f"{self.tmux} {words}")

    def press(self, *keys):
        self.call("send-keys " + " ".join(shlex.quote(key) for key in keys))

    def screen(self):
        return self.call("capture-pane -p")

    def wait_for(self, *patterns):
        """Waits until the screen shows all of the patterns; returns it."""
        def all_shown():
            return all(re.search(p, self.screen(), re.M) for p in patterns)
        try:
            self.lab.wait_until(all_shown, 20, f"the screen shows {patterns}")
        except Failure as failure:
            raise Failure(f"{failure}\n{self.screen()}") from None
        return self.screen()

    def close(self):
        self.call("kill-server")


def fits(screen, width, height):
    lines = screen.splitlines()
    same("lines", len(lines) <= height, True)
    same("columns", max(len(line) for line in lines) <= width, True)


@case("top", "terminal", seconds=240)
def in_terminal(lab):
    """At 80x24 and 200x50: programs, their queue pairs, one queue pair; sort, filter, freeze, resize."""
    need_tool("tmux")
    server, client = perftest_pair(lab, "-s", "65536")
    [qp] = res(lab, "qp", "--pid", str(client.pid))
    lossy = trouble(lab, "send")[1]
    terminal = Terminal(lab, [lab.adverb, "top", "-i", "0.5"], 80, 24)
    screen = terminal.wait_for(r"PID +PROGRAM +QPS", rf"^ *{client.pid} ib_write_bw +1 +[\d.]+[kMG]",
                               rf"^ *{server.pid} ib_write_bw", rf"^ *{lossy.pid} trouble", "q quit", "Programs: 4",
                               r"Latency p50 [\d.]+[num]")
    fits(screen, 80, 24)
    terminal.press("/", "b", "w")
    terminal.wait_for("filter: bw_", "Programs: 2")
    terminal.press("Enter")
    terminal.wait_for("filter: bw$")
    terminal.press("Escape")
    terminal.wait_for("Programs: 4")
    terminal.press("s", "s", "s")
    screen = terminal.wait_for("by trouble")
    same("most trouble", re.search(r"PID +PROGRAM.*\n *\d+ (\w+)", screen)[1], "trouble")
    terminal.press("/", *str(client.pid), "Enter")
    terminal.wait_for("Programs: 1")
    terminal.press("Enter")
    screen = terminal.wait_for(rf"Process {client.pid} \(ib_write_bw\)", r"QPN +.*STATE",
                               rf"^0x{qp['lqpn']:06x} +{client.pid} RC +RTS +0x{qp['rqpn']:06x} 127.0.0.1 +[\d.]+k? +[\d.]+[num] ")
    fits(screen, 80, 24)
    terminal.press("Enter")
    screen = terminal.wait_for(f"Queue pair 0x{qp['lqpn']:06x}", "Type +RC, state RTS",
                               r"Latency +p50 [\d.]+[num], p99 [\d.]+[num]", r"below +[\d.]+[um] +[\d.]+k? #")
    fits(screen, 80, 24)
    terminal.press("Escape", "Escape")
    terminal.wait_for("Programs: 4")
    terminal.press("h")
    terminal.wait_for("this help", "P50, P99")
    terminal.press("h", "Space")
    terminal.wait_for("FROZEN", "Programs: 4")
    terminal.press("Space")
    terminal.call("resize-window -x 200 -y 50")
    screen = terminal.wait_for("TX pk/s +RX pk/s +TIMEOUT +OUT OF SEQ +DUPLICATE +AGE$")
    fits(screen, 200, 50)
    terminal.press("a")
    terminal.wait_for("Queue pairs: 4", "QUEUED +POSTED +FLIGHT +WINDOW")
    terminal.call("resize-window -x 40 -y 10")
    fits(terminal.wait_for("Queue pairs: 4", "QPN"), 40, 10)
    terminal.press("q")
    terminal.wait_for("ended 0")
    terminal.close()
    same("still run", (server.running(), client.running()), (True, True))


@case("top", "batch")
def batch(lab):
    """Without programs the command says so; a batch has programs, queue pairs and rates."""
    text = adverb(lab, "top", "--once", "-i", "0.1")
    if "No program uses the device" not in text:
        raise Failure(f"no programs:\n{text}")
    server, client = perftest_pair(lab, "-s", "65536")
    text = adverb(lab, "top", "-b", "-n", "2", "-i", "0.5", "-s", "number")
    rows = re.findall(rf"^ *({server.pid}|{client.pid}) +0 ib_write_bw +1 +([\d.]+[kMG]?) +([\d.]+[kMG]?)", text, re.M)
    same("rows", [int(row[0]) for row in rows], 2 * sorted([server.pid, client.pid]))
    same("rates", all(re.search("[MG]", row[2] if int(row[0]) == server.pid else row[1]) for row in rows), True)
    text = adverb(lab, "top", "--once", "-i", "0.2", "--pid", str(client.pid), env={"COLUMNS": "80"})
    same("one queue pair", len(re.findall(r"^0x\w{6} ", text, re.M)), 1)
    text = adverb(lab, "top", "--once", "-i", "0.2", "--queue-pairs", "--filter", str(server.pid))
    same("filtered", len(re.findall(r"^0x\w{6} ", text, re.M)), 1)
    for words in (("-n", "0"), ("-i", "0"), ("-s", "x"), ("-f", "x" * 40), ("x",)):
        adverb(lab, "top", "-b", *words, status=2)
    said = adverb(lab, "top", status=1)
    if "no terminal" not in said:
        raise Failure(f"not a terminal:\n{said}")
    alone = shutil.copy(lab.adverb, lab.dir / "alone")
    said = lab.run([alone, "top"], adverb=False, status=1) + lab.run([alone, "exporter"], adverb=False, status=1)
    if not re.search(r"adverb-terminal.so.*libncurses-dev.*\n.*adverb-http.so.*libmicrohttpd-dev", said):
        raise Failure(f"modules that are not there are not named:\n{said}")
    adverb(lab, "top", "--once", "-i", "0.1")
