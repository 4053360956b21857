# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`adverb exporter`: its metrics, its HTTP server, node_exporter, Prometheus, the dashboard."""

import contextlib
import json
import os
import re
import signal
import socket
import time
import urllib.error
import urllib.parse
import urllib.request

from cases_device import NOBODY, as_nobody
from cases_operator import adverb, perftest_pair, port_counters, stat
from cases_sysfs import same
from harness import HERE, Failure, case, daemons, need_tool

DASHBOARD = HERE.parent.parent / "data" / "grafana" / "adverb.json"
SAMPLE = re.compile(r'^([a-z_0-9]+)(?:\{(.*)\})? ([-+.\de]+)$')
METRICS = ("127.0.0.1", 9401)


def samples(text):
    """Returns {name: [(labels, value)]} of metrics in Prometheus's text format."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            match = SAMPLE.match(line)
            if not match:
                raise Failure(f"not a sample: {line}")
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2] or ""))
            found.setdefault(match[1], []).append((labels, float(match[3])))
    return found


def single(found, name, **labels):
    """Returns the value of the only sample with these labels."""
    values = [v for have, v in found.get(name, []) if labels.items() <= have.items()]
    if len(values) != 1:
        raise Failure(f"{len(values)} samples of {name}{labels}: {found.get(name)}")
    return values[0]


def get(address, path="/metrics", **how):
    """Returns (status, type, text) of a page."""
    request = urllib.request.Request(f"http://{address[0]}:{address[1]}{path}", **how)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read().decode()


def once(lab, *words, **how):
    """Returns the metrics that `adverb exporter --once` prints."""
    return samples(adverb(lab, "exporter", "--once", *words, **how))


def serve(lab, *words):
    """Starts an exporter, and returns when it listens."""
    process = lab.start_server([lab.adverb, "exporter", *words], "metrics: http", adverb=False)
    if not process.running():
        raise Failure(f"the exporter ended:\n{process.describe()}")
    return process


def ended_well(process):
    process.popen.send_signal(signal.SIGTERM)
    same("exit status after SIGTERM", process.wait(30), 0)


@case("metrics", "values")
def values(lab):
    """The metrics agree with `adverb stat` and with the payload that perftest sent; all are valid."""
    program = ["ib_write_bw", "-F", "-n", "500", "-s", "65536"]
    lab.pair(program, [*program, "127.0.0.1"])
    found = once(lab)
    port, payload = port_counters(lab), 500 * 65536
    sent = single(found, "node_infiniband_port_data_transmitted_bytes_total", device="adverb0", port="1")
    same("bytes sent", (sent, payload <= sent <= 1.01 * payload), (4 * port["port_xmit_data"], True))
    same("requests", (single(found, "adverb_rx_write_requests_total"),
                      single(found, "node_infiniband_rx_write_requests_total")), (500, 500))
    hardware = [name for name in port if f"adverb_{name}_total" in found]
    same("counters of hw_counters", len(hardware), 25)
    for name in hardware:
        same(name, single(found, f"adverb_{name}_total"), port[name])
    server, client = perftest_pair(lab, "-s", "65536")
    found = once(lab)
    for process in (server, client):
        single(found, "adverb_process_transmitted_bytes_total", pid=str(process.pid), comm="ib_write_bw")
    same("programs", (single(found, "adverb_processes"), single(found, "adverb_objects", kind="qp")), (2, 2))
    moved = single(found, "adverb_process_transmitted_packets_total", pid=str(client.pid))
    lab.wait_until(lambda: single(once(lab), "adverb_process_transmitted_packets_total", pid=str(client.pid)) > moved,
                   20, "the program sends")
    for words in (("--once", "--listen", "127.0.0.1:0"), ("-i", "0"), ("x",)):
        adverb(lab, "exporter", *words, status=2)


@case("metrics", "names-of-processes")
def names_of_processes(lab):
    """A hostile name of a program stays inside its label; a user sees the user's own programs only."""
    env = as_nobody(lab)
    name = 'a"b\\c{\u00e4}'
    daemon = lab.start([lab.adverb.parent / "adverbd", "--system", "--foreground"], adverb=False)
    lab.wait_until(lambda: "adverbd runs for all" in lab.system(f"{lab.adverb} status || true"), 20,
                   "the system's adverbd")
    program = lab.dir / name
    program.symlink_to(lab.client("holder"))
    holder = lab.start_server([program, "5"], "ready")
    found = once(lab)
    labels = [have for have, _ in found["adverb_process_received_packets_total"]]
    same("label", [(have["pid"], have["comm"]) for have in labels],
         [(str(holder.pid), r'a\"b\\c{??}')])
    theirs = once(lab, prefix=NOBODY, env=env)
    same("another user", theirs.get("adverb_process_received_packets_total"), None)
    same("the sums", single(theirs, "adverb_slots_used"), 1)
    daemon.kill()


def exchange(data):
    """Sends bytes to the server; returns its answer, if it comes soon: half a request may wait for the rest."""
    answer = b""
    with socket.create_connection(METRICS, timeout=2) as sock:
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while chunk := sock.recv(65536):
                answer += chunk
        except OSError:  # the server has closed the connection, or waits
            pass
    return answer


@case("metrics", "http")
def http(lab):
    """The server answers on the loopback address only, and bears hostile clients."""
    lab.system("ip address add 10.77.0.1/32 dev lo")
    process = serve(lab)
    status, kind, text = get(METRICS)
    same("page", (status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
    same("processes", single(samples(text), "adverb_processes"), 0)
    same("other pages", [get(METRICS, path)[0] for path in ("/", "/x", "/metrics/../etc/passwd", "/%ff")],
         [200, 404, 404, 404])
    same("methods", [get(METRICS, method=m)[0] for m in ("HEAD", "POST", "PUT", "DELETE")], [200, 405, 405, 405])
    same("with a body", get(METRICS, data=b"x" * 100000, method="GET")[0], 200)
    try:
        socket.create_connection(("10.77.0.1", 9401), timeout=10).close()
        raise Failure("the server answers on another address")
    except ConnectionRefusedError:
        pass
    garbage = (b"\0" * 5000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /metrics HTTP/1.1\r\n\r\n",
               b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: " + b"b" * 100000 + b"\r\n\r\n",
               b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
               b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
               b"GET / HTTP/1.1\r\n" + b"".join(b"h%d: x\r\n" % i for i in range(5000)) + b"\r\n",
               b"\xff\xfe" * 1000 + b"\r\n\r\n")
    for data in garbage:
        answer = exchange(data)
        if answer.startswith(b"HTTP/1.1 200"):
            raise Failure(f"accepted: {data[:60]!r}: {answer[:200]!r}")
    same("after garbage", get(METRICS)[0], 200)
    idle = [socket.create_connection(METRICS, timeout=60) for _ in range(8)]
    for i, sock in enumerate(idle):
        sock.sendall((b"GET /metrics HT",
                      b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx")[i % 2])
    same("beside slow clients", get(METRICS)[0], 200)
    more = [socket.create_connection(METRICS, timeout=60) for _ in range(40)]
    for sock in idle + more:
        sock.close()
    lab.wait_until(lambda: get_or_none() == 200, 20, "the server answers after too many connections")
    said = adverb(lab, "exporter", status=1)
    if "cannot listen on 127.0.0.1:9401: Address already in use" not in said:
        raise Failure(f"a used port is not named:\n{said}")
    for wrong in ("127.0.0.1", "x:9401", "127.0.0.1:65536", "::1:9401", "[::1:9401", ":", "", "[]:1", "1.2.3.4.5:1"):
        adverb(lab, "exporter", "--listen", wrong, status=1)
    ended_well(process)
    other = serve(lab, "-l", "[::1]:0")
    port = re.search(r"http://\[::1\]:(\d+)/metrics", other.output())[1]
    same("IPv6", get(("[::1]", port))[0], 200)
    ended_well(other)


@case("metrics", "slow-clients")
def slow_clients(lab):
    """Clients that send a byte now and then keep no other one away, also with one address, and have 10 s."""
    process = serve(lab)
    drips = []
    for number in range(6):
        while len(drips) < 120:
            drips.append(socket.create_connection(METRICS, timeout=60))
        drips = [sock for sock in drips if drip(sock)]
        same("beside slow clients", get(METRICS)[0], 200)
        time.sleep(0.1)
    lab.wait_until(lambda: sum(map(drip, drips)) <= 32, 20, "the end of all slow clients but 32")
    for sock in drips:
        sock.close()
    alone = socket.create_connection(METRICS, timeout=60)
    lab.wait_until(lambda: not drip(alone), 20, "the end of a slow client")
    same("afterwards", get(METRICS)[0], 200)
    ended_well(process)


def drip(sock):
    """Sends a byte; whether the connection still exists."""
    try:
        sock.send(b"G")
        sock.setblocking(False)
        return bool(sock.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


def get_or_none():
    try:
        return get(METRICS)[0]
    except (OSError, urllib.error.URLError):
        return None


@case("metrics", "daemon-restarts")
def daemon_restarts(lab):
    """The exporter goes on after the end of adverbd, and counters with it."""
    process = serve(lab)
    program = ["ib_write_bw", "-F", "-n", "200", "-s", "4096"]
    lab.pair(program, [*program, "127.0.0.1"])
    same("before", single(samples(get(METRICS)[2]), "adverb_rx_write_requests_total"), 200)
    before = daemons()
    for pid in before:
        with contextlib.suppress(ProcessLookupError):  # the end of one of the two ends the other
            os.kill(pid, signal.SIGTERM)
    lab.wait_until(lambda: not set(before) & set(daemons()), 20, "adverbd ends")
    lab.wait_until(lambda: get_or_none() == 200, 20, "the exporter answers again")
    same("programs", single(samples(get(METRICS)[2]), "adverb_processes"), 0)
    ended_well(process)


def node_exporter(lab, *words):
    """Starts Debian's node_exporter; returns it, and a function that returns its samples."""
    tool = need_tool("prometheus-node-exporter")
    address = ("127.0.0.1", 9100)
    process = lab.start_server([tool, "--web.listen-address=127.0.0.1:9100", "--collector.disable-defaults",
                                "--collector.infiniband", "--collector.netclass", "--collector.textfile", *words],
                               "Listening on", adverb=False)
    return process, lambda: samples(get(address)[2])


@case("metrics", "node-exporter")
def by_node_exporter(lab):
    """node_exporter's own collector reads the tree; with the text file, nothing is there twice."""
    need_tool("prometheus-node-exporter")
    program = ["ib_write_bw", "-F", "-n", "500", "-s", "65536"]
    lab.pair(program, [*program, "127.0.0.1"])
    tree, folder = lab.dir / "tree", lab.dir / "text"
    folder.mkdir()
    process = lab.start([lab.adverb, "exporter", "--sysfs", tree, "--textfile", folder / "adverb.prom", "-i", "1"],
                        adverb=False)
    lab.wait_until(lambda: (tree / "sys/class/infiniband/adverb0/ports/1/counters/port_rcv_packets").exists()
                   and (folder / "adverb.prom").exists(), 20, "the files are written")
    _, scrape = node_exporter(lab, f"--path.sysfs={tree}/sys", f"--collector.textfile.directory={folder}")
    theirs, ours = scrape(), once(lab)
    for collector in ("infiniband", "textfile", "netclass"):
        same(collector, single(theirs, "node_scrape_collector_success", collector=collector), 1)
    same("text file", single(theirs, "node_textfile_scrape_error"), 0)
    names = sorted(name for name in theirs if name.startswith("node_infiniband_"))
    same("more than ten names", len(names) > 10, True)
    for name in names:
        same(name, sorted((sorted(have.items()), value) for have, value in theirs[name]),
             sorted((sorted(have.items()), value) for have, value in ours[name]))
    same("own metrics", single(theirs, "adverb_rx_write_requests_total"), 500)
    same("interfaces of the kernel", any(have["device"] == "lo" for have, _ in theirs["node_network_up"]), True)
    lab.pair(program, [*program, "127.0.0.1"])
    lab.wait_until(lambda: single(scrape(), "adverb_rx_write_requests_total") == 1000, 20, "the files are updated")
    same("leftovers", [p.name for p in folder.iterdir()], ["adverb.prom"])
    same("mode", oct((folder / "adverb.prom").stat().st_mode & 0o777), "0o644")
    ended_well(process)
    adverb(lab, "exporter", "--once", "--sysfs", tree)
    for other in (folder, lab.dir / "none" / "x", folder / "adverb.prom", "/"):
        adverb(lab, "exporter", "--once", "--sysfs", other, status=1)
    adverb(lab, "exporter", "--once", "--textfile", lab.dir / "none" / "x.prom", status=1)
    same("the folder is unchanged", [p.name for p in folder.iterdir()], ["adverb.prom"])
    adverb(lab, "exporter", "--once", "--textfile", folder / "all.prom")
    same("without a tree", "node_infiniband_info" in samples((folder / "all.prom").read_text()), True)


# ---- Prometheus, and the dashboard ----

def panels():
    """Yields the panels of the dashboard that have expressions; checks the structure."""
    board = json.loads(DASHBOARD.read_text())
    same("kinds of members", (board["uid"], type(board["schemaVersion"]), board["templating"]["list"][0]["type"]),
         ("adverb", int, "datasource"))
    ids = [panel["id"] for panel in board["panels"]]
    same("unique ids", len(ids), len(set(ids)))
    taken = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        same(f"place of {panel['title']}", (bool(cells & taken), at["x"] + at["w"] <= 24), (False, True))
        taken |= cells
        same("type", panel["type"] in ("row", "stat", "timeseries"), True)
        if panel["type"] != "row":
            same(f"data source of {panel['title']}", panel["datasource"]["uid"], "${datasource}")
            same(f"description of {panel['title']}", bool(panel["description"] and panel["targets"]), True)
            yield panel


def expressions():
    """Returns the expressions of the dashboard, with values for Grafana's variables."""
    found = []
    for panel in panels():
        refs = [target["refId"] for target in panel["targets"]]
        same("references", len(refs), len(set(refs)))
        for target in panel["targets"]:
            text = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
            same("variables", "$" in text, False)
            found.append(text)
    return found


def metrics_of(expression):
    """Returns the names of the metrics that an expression reads."""
    return set(re.findall(r"\b((?:adverb|node)_[a-z0-9_]+)\{", expression))


@case("metrics", "dashboard")
def dashboard(lab):
    """Each metric of the dashboard is exported; the rows are the branches of the triage."""
    server, client = perftest_pair(lab)
    exported = once(lab)
    texts = expressions()
    same("expressions", len(texts) > 30, True)
    for text in texts:
        names = metrics_of(text)
        same(f"metrics of {text}", (bool(names), names - set(exported)), (True, set()))
    rows = [p["title"].split(":")[0].split(" (")[0] for p in json.loads(DASHBOARD.read_text())["panels"]
            if p["type"] == "row"]
    same("rows", rows, ["Overview", "Fabric", "Peer application", "Local application", "Set-up"])
    same("still run", (server.running(), client.running()), (True, True))


def query(expression):
    """Returns the result of a query of Prometheus."""
    path = "/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    status, _, text = get(("127.0.0.1", 9090), path)
    answer = json.loads(text)
    same(f"query {expression}", (status, answer["status"]), (200, "success"))
    return answer["data"]["result"]


@case("metrics", "prometheus", seconds=240)
def by_prometheus(lab):
    """promtool accepts metrics and expressions; a Prometheus scrapes, and answers the dashboard's queries."""
    promtool, prometheus = need_tool("promtool"), need_tool("prometheus")
    exporter = serve(lab)
    config = lab.dir / "prometheus.json"
    config.write_text(json.dumps({"global": {"scrape_interval": "200ms", "scrape_timeout": "200ms"}, "scrape_configs": [
        {"job_name": "adverb", "static_configs": [{"targets": ["127.0.0.1:9401"]}]}]}))
    # It takes 5 s until it scrapes.
    lab.start_server([prometheus, f"--config.file={config}", f"--storage.tsdb.path={lab.dir}/tsdb",
                      "--web.listen-address=127.0.0.1:9090"], "ready to receive web requests", adverb=False)
    server, client = perftest_pair(lab, "-s", "65536")
    page = lab.dir / "page"
    page.write_text(get(METRICS)[2])
    lab.system(f"{promtool} check metrics < {page}")
    rules = lab.dir / "rules.json"
    rules.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": [
        {"record": f"panel_{i}", "expr": text} for i, text in enumerate(expressions())]}]}))
    said = lab.system(f"{promtool} check rules {rules}")
    same("promtool parses the expressions", f"{len(expressions())} rules found" in said, True)
    pid = str(client.pid)

    def rate():
        result = query(f'rate(adverb_process_transmitted_bytes_total{{pid="{pid}"}}[10s])')
        return float(result[0]["value"][1]) if result else 0
    lab.wait_until(lambda: rate() > 0, 60, "Prometheus has a rate of the client")
    same("up", [r["value"][1] for r in query('up{job="adverb"}')], ["1"])
    for text in expressions():
        query(text)
    same("names", {r["metric"]["comm"] for r in query(f'adverb_process_received_bytes_total{{pid="{pid}"}}')},
         {"ib_write_bw"})
    same("still run", (server.running(), stat(lab)[0][0]["port"]), (True, 1))
    ended_well(exporter)
