# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs of RoCE v1, in the format of mutants.py."""

GID_INDEX = "src/abi/rdmacm/gid_index.c"
NEIGHBOUR = "src/runtime/device/neighbour.c"
PORT = "src/runtime/link/port.c"
QP = "src/abi/verbs/qp.c"
RAW_FILTER = "src/runtime/link/raw_filter.c"
RAW_RX = "src/runtime/link/raw_rx.c"
RAW_TX = "src/runtime/link/raw_tx.c"
RAW_WAY = "src/runtime/link/raw_way.c"
ADDRESS = "src/nic/engine/address.c"
ENGINE_RX = "src/nic/engine/rx.c"
DATAGRAM = "src/nic/queue/datagram.c"

ROCEV1 = [
    ("v1-version", "a queue pair takes packets of either version of RoCE", ENGINE_RX,
     "adv_rx_is_v1(meta) == (qp->path.v1 && !qp->peer_is_here)", "true"),
    ("v1-forged", "a frame that claims to be of this machine is taken", ENGINE_RX,
     "(qp->path.v1 && !qp->peer_is_here)", "qp->path.v1"),
    ("v1-datagram", "a datagram is taken in either version of RoCE", ADDRESS,
     "if (e->gids[i].v1 == v1)", "if (true)"),
    ("v1-datagram-here", "a datagram within the machine needs the version of its GID", ADDRESS,
     "return found && !v1 && adv_address_is_here(e, &meta->sgid);", "return found && !v1 && false;"),
    ("v1-datagram-forged", "a datagram from afar is taken in RoCE v2 for a GID of RoCE v1", ADDRESS,
     "return found && !v1 && adv_address_is_here(e, &meta->sgid);", "return found && !v1;"),
    ("v1-grh", "a datagram of RoCE v1 has the 40 bytes of RoCE v2", DATAGRAM,
     "if (adv_rx_is_v1(in->meta))\n\t\tadv_grh_of_v1", "if (false)\n\t\tadv_grh_of_v1"),
    ("raw-icrc", "a frame with a wrong ICRC is taken", RAW_RX, "adv_frame_icrc(&f) != f.icrc", "false"),
    ("raw-interface", "a frame to any GID is taken", RAW_RX,
     "return adv_gid_is_multicast(dgid);", "return true;"),
    ("raw-own-source", "a frame that claims to be of this machine is taken by the link", RAW_RX,
     " || adv_raw_is_own(l, &meta.sgid)", ""),
    ("raw-flood", "frames keep the packets of the inner link waiting", RAW_RX,
     "if (link->enough)\n", "if (link->enough || packets == budget)\n"),
    ("raw-place", "a place of the ring does not return to the kernel", RAW_RX,
     "__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);", "(void)h;"),
    ("raw-filter-type", "frames for other machines pass the filter", RAW_FILTER,
     "BPF_JMP | BPF_JGT | BPF_K, PACKET_MULTICAST, 0, 1)", "BPF_JMP | BPF_JGT | BPF_K, PACKET_OUTGOING, 0, 1)"),
    ("raw-filter-qpn", "the filter takes one queue pair number too many", RAW_FILTER,
     "l->range[i].count, 1, 0)", "l->range[i].count + 1, 1, 0)"),
    ("raw-own", "packets to own addresses leave as frames", RAW_WAY,
     "return path->v1 && !adv_raw_is_own(l, &path->dgid);", "return path->v1;"),
    ("raw-flip", "an injected fault does not damage the ICRC of a frame", RAW_TX, " ^ pkt->icrc_flip", ""),
    ("raw-ecn", "frames have ECN bits", RAW_TX, "path->tclass & ~ADV_ECN_MASK", "path->tclass"),
    ("raw-priority", "the priority is set only once", RAW_TX,
     "if (l->tx.priority == priority)", "if (l->tx.priority)"),
    ("raw-group-mac", "an IPv4 group has 24 bits in its MAC address", RAW_WAY, "g[13] & 0x7f", "g[13] | 0x80"),
    ("raw-blocked", "frames that find no room are dropped", RAW_TX,
     "\t\t\tl->link.counters.tx_blocked++;\n\t\t\treturn false;", "\t\t\ttx->next++;"),
    ("next-hop-address", "a neighbour of another GID is used if the version is the same", NEIGHBOUR,
     " && adv_gid_equal(&now.sgid, &n->sgid)", ""),
    ("next-hop-version", "a neighbour found for the other version is used", NEIGHBOUR,
     "return now.type == n->type && ", "return "),
    ("next-hop-early", "a queue pair takes its neighbour before the last change of the table", QP,
     "adv_device_catch_up(d);\n\t\tadv_device_send_acks(d);\n"
     "\t\tif (!(mask & IBV_QP_AV) || adv_device_next_hop_holds(d, &attr->ah_attr, n))\n\t\t\treturn 0;",
     "n->type += 0;\n\t\tif (!(mask & IBV_QP_AV) || adv_device_next_hop_holds(d, &attr->ah_attr, n)) {\n"
     "\t\t\tadv_device_catch_up(d);\n\t\t\tadv_device_send_acks(d);\n\t\t\treturn 0;\n\t\t}"),
    ("port-abandoned", "a child of fork() takes another descriptor for the emulator", PORT,
     "\tl->sock = l->room = -1; /* later descriptors have these numbers */\n", ""),
    ("port-full", "a full port stays writable if its socket was emptied late", PORT,
     "\tfill_room(l);\n\tif (put_all_kept(l))",
     "\tif (!atomic_load(&l->flag->full))\n\t\tfill_room(l);\n\tif (put_all_kept(l))"),
    ("gid-index-interface", "an index is that of the same GID at another interface", GID_INDEX,
     " ||\n\t\t    entry[i].ndev_ifindex != route->ifindex)", ")"),
    ("gid-index-version", "an index is that of the other version of RoCE", GID_INDEX,
     "\t\tif (entry[i].gid_type == type)\n\t\t\treturn (int)entry[i].gid_index;\n", "\t\t(void)type;\n"),
    ("raw-refused", "a frame that the interface's queue refuses waits for the socket", RAW_TX,
     "errno == EAGAIN)", "errno == EAGAIN || errno == ENOBUFS)"),
]
