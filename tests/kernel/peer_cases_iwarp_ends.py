# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How iWARP connections with the kernel's siw begin and end."""

from peer_cases_ends import Seen, register_both_agree, register_ends
from peer_lab import SERVERS

SEEN = Seen("RDMA_CM_EVENT_CONNECT_REQUEST status 0 resources 3 depth 5 data 'from the client'",
            "RDMA_CM_EVENT_ESTABLISHED status 0 resources 4 depth 2 data 'from the server'",
            "RDMA_CM_EVENT_REJECTED status -104 resources 0 depth 0 data 'not with me'",
            "RDMA_CM_EVENT_REJECTED status -111")

for one_server in SERVERS:
    for one_family in ("4", "6"):
        register_both_agree("iwarp-ends", SEEN, one_server, one_family)
    register_ends("iwarp-ends", SEEN, one_server)
