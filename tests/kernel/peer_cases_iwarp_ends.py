# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How iWARP connections with the kernel's siw begin and end."""

from peer_cases_ends import Seen, register_both_agree, register_ends
from peer_lab import SERVERS

REQUEST = "RDMA_CM_EVENT_CONNECT_REQUEST status 0 resources 3 depth 5 data 'from the client'"
NOBODY = "RDMA_CM_EVENT_REJECTED status -111"
# iw_cm of Linux 6.1 stops with a BUG if a connection ends in its first moment
OPTIONS = ("-w",)

# As a server, siw raises its responder resources to what the client requests, and refuses with the values of
# the request. As a client, it reports a reply's values in the other order, and fails in rdma_connect().
SEEN = {
    "kernel": Seen(REQUEST, "RDMA_CM_EVENT_ESTABLISHED status 0 resources 4 depth 3 data 'from the server'",
                   "RDMA_CM_EVENT_REJECTED status -104 resources 5 depth 3 data 'not with me'", NOBODY,
                   options=OPTIONS),
    "adverb": Seen(REQUEST, "RDMA_CM_EVENT_ESTABLISHED status 0 resources 2 depth 4 data 'from the server'",
                   "RDMA_CM_EVENT_REJECTED status -104 resources 0 depth 0 data 'not with me'",
                   "rdma_connect: Connection refused", 1, OPTIONS),
}

for one_server in SERVERS:
    for one_family in ("4", "6"):
        register_both_agree("iwarp-ends", SEEN[one_server], one_server, one_family)
    register_ends("iwarp-ends", SEEN[one_server], one_server)
