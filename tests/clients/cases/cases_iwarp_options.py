# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`--iwarp`: what two devices agree on for each combination of their options, seen in the captured streams."""

import itertools
import re

import iwarp_pcap
from cases_cm import LINES, demand
from cases_iwarp import IWARP, is_listening, iwarp_pair
from harness import Failure, case, need_tool

CRC = ("accept", "require", "refuse")
MARKERS = ("no", "yes")
PORT = 7174
PINGS = "3"
WRONG = re.compile(r"Bad CRC32|Malformed|bad_length|Bad length|NOT set to zero|Expert Info.*(Error|Warn)", re.I)


def options(crc, markers):
    return dict(IWARP, ADVERB_IWARP=f"crc={crc} markers={markers}")


def connect_well(lab, server, client):
    listener = lab.start(["rping", "-s", "-a", "127.0.0.1", "-C", PINGS, "-S", "3000", "-V"], prefix=LINES,
                         env=options(*server))
    lab.wait_until(lambda: not listener.running() or is_listening(lab, PORT), 30, "a listener")
    lab.run(["rping", "-c", "-a", "127.0.0.1", "-C", PINGS, "-S", "3000", "-V"], env=options(*client))
    listener.expect(0, 30)


def connect_refused(lab, server, client):
    """One end requires what the other one refuses: the client is rejected, whoever it was that refused."""
    listener = lab.start(["rping", "-s", "-P", "-a", "127.0.0.1"], prefix=LINES, env=options(*server))
    lab.wait_until(lambda: is_listening(lab, PORT), 30, "a listener")
    out = lab.run(["rping", "-c", "-a", "127.0.0.1", "-C", PINGS], status=255, env=options(*client))
    demand(out, r"RDMA_CM_EVENT_REJECTED, error: -104|REJECTED; error: -104|event.*REJECTED.*-104", 1)
    if server[0] == "refuse" and "REQUEST" in listener.output():
        raise Failure("the server's program saw a request that its device refuses")
    listener.kill()


def refused(server, client):
    return {server[0], client[0]} == {"require", "refuse"}


def check_flags(server, client, to_server, to_client):
    """The start-up frames have what each end wants, and the reply has CRCs if either end requires them."""
    crc = "require" in (server[0], client[0])
    seen = (to_server.asks_crc, to_server.asks_markers, to_client.rejects)
    if seen != (client[0] == "require", client[1] == "yes", refused(server, client) and server[0] == "refuse"):
        raise Failure(f"request and reply: {seen}")
    if not to_client.rejects and (to_client.asks_crc, to_client.asks_markers) != (crc, server[1] == "yes"):
        raise Failure(f"the reply: {to_client.start.hex()}")


def check_streams(server, client, to_server, to_client):
    """Every FPDU has a CRC or none has one; each direction has markers if its receiver asked for them."""
    crc = "require" in (server[0], client[0])
    for stream, markers in ((to_server, server[1] == "yes"), (to_client, client[1] == "yes")):
        fpdus, seen = stream.fpdus(crc, markers)
        if fpdus < 6 or seen != (-(-len(stream.body) // iwarp_pcap.SPACING) if markers else 0):
            raise Failure(f"{fpdus} FPDUs, {seen} markers in {len(stream.body)} bytes")


def check_tshark(lab, path, pairs):
    """Wireshark reads the connections without markers, and finds nothing wrong."""
    plain = [number for number, (server, client) in enumerate(pairs) if server[1] == client[1] == "no"]
    numbers = ",".join(map(str, plain))
    text = lab.run([need_tool("tshark"), "-n", "-r", path, "-o", "tcp.try_heuristic_first:TRUE", "--disable-heuristic",
                    "rpcrdma_iwarp", "--disable-heuristic", "smb_direct_iwarp", "-V", "-Y",
                    f"(iwarp_mpa || _ws.malformed) && tcp.stream in {{{numbers}}}"], adverb=False, seconds=120)
    wrong = [line.strip() for line in text.splitlines() if WRONG.search(line)]
    fpdus = len(re.findall(r"^    FPDU$", text, re.M))
    if wrong or fpdus < 10 * len(plain) // 2:
        raise Failure(f"{fpdus} FPDUs; {wrong[:5]}")
    return fpdus


@case("iwarp", "options", seconds=400)
def every_combination(lab):
    pairs = list(itertools.product(itertools.product(CRC, MARKERS), repeat=2))
    path = str(lab.dir / "iwarp.pcap")
    capture = lab.start([need_tool("tcpdump"), "-i", "lo", "-B", "65536", "--immediate-mode", "-Z", "root", "-U", "-w",
                         path, "tcp"], adverb=False)
    lab.wait_until(lambda: "listening on" in capture.output(), 20, "tcpdump listens")
    for server, client in pairs:
        (connect_refused if refused(server, client) else connect_well)(lab, server, client)
    lab.stop_tcpdump(capture)
    connections = iwarp_pcap.streams(need_tool("tshark"), path, PORT)
    if len(connections) != len(pairs):
        raise Failure(f"{len(connections)} connections, not {len(pairs)}")
    for (server, client), (to_server, to_client) in zip(pairs, connections):
        try:
            check_flags(server, client, to_server, to_client)
            if not refused(server, client):
                check_streams(server, client, to_server, to_client)
        except (Failure, iwarp_pcap.WrongStream) as failure:
            raise Failure(f"server {server}, client {client}: {failure}") from None
    print(f"{len(pairs)} combinations, {sum(refused(*pair) for pair in pairs)} refused; "
          f"tshark read {check_tshark(lab, path, pairs)} FPDUs")


@case("iwarp", "options-data")
def much_data(lab):
    """Long messages with CRCs and markers in both directions; an option that does not exist."""
    both = {"ADVERB_IWARP": "crc=require,markers=yes"}
    for program in ("ib_send_bw", "ib_write_bw", "ib_read_bw"):
        words = [program, "-R", "-n", "20", "-s", "1000003"]
        iwarp_pair(lab, words, [*words, "127.0.0.1"], 18515, env=both)
    text = lab.run([lab.adverb, "run", "--transport", "iwarp", "--iwarp", "crc=yes", "true"], adverb=False, status=2)
    demand(text, r"--iwarp: 'crc=yes' is none of: crc=accept, crc=require, crc=refuse", 1)
    text = lab.run(["ibv_devinfo"], status=1, env=dict(IWARP, ADVERB_IWARP="crc=yes"))
    demand(text, r"ADVERB_IWARP: 'crc=yes' is none of: ", 1)
