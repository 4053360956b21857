# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs in src/nvme, in the format of mutants.py."""

CONTROLLER = "src/nvme/controller.c"
FABRICS = "src/nvme/fabrics.c"
FUSED = "src/nvme/fused.c"
HOST_QUEUE = "src/nvme/host_queue.c"
IO = "src/nvme/io.c"
ORDER = "src/nvme/order.c"
QUEUE = "src/nvme/queue.c"

NVME = [
    ("nvme-stale-write", "a write does not wait for an earlier one on its blocks", ORDER,
     "return a->offset < b->offset + b->length && b->offset < a->offset + a->length;", "return a == b;"),
    ("nvme-waiting-order", "a write passes one that waits", ORDER,
     "overlaps_one(&ns->waiting, NULL, &request->io)", "false"),
    ("nvme-lba-end", "the range may end one block behind the namespace", IO,
     "blocks > ns->blocks - slba", "blocks > ns->blocks - slba + 1"),
    ("nvme-capsule-offset", "data in the capsule may lie behind its end", QUEUE,
     "if (sgl->length > len - sgl->address)", "if (sgl->length > len)"),
    ("nvme-too-many", "a queue with no free request takes a capsule", QUEUE,
     "adv_list_empty(&queue->free) || len", "len"),
    ("nvme-ranges-first", "a range of Dataset Management is executed before all are checked", IO,
     "i < range_count(request); i++", "i < 1; i++"),
    ("nvme-connect-twice", "an I/O queue is connected twice", FABRICS,
     "if (c->queues[queue->id])", "if (false)"),
    ("nvme-event-mask", "an event is reported again before the host has read its page", CONTROLLER,
     "(c->events_masked & event) ||", ""),
    ("nvme-keep-alive-round", "the keep alive timeout is rounded down", CONTROLLER,
     "(kato + unit - 1) / unit * unit", "kato / unit * unit"),
    ("nvme-read-only", "a read-only namespace is written", IO,
     "request->namespace->read_only)", "false)"),
    ("nvme-fused-order", "another write gets between a fused Compare and its Write", FUSED,
     "adv_nvme_order_hand_over(request, second);", "adv_nvme_order_executed(request);"),
    ("nvme-fused-compare", "a fused Write executes though its Compare failed", FUSED,
     "	if (status == ADV_NVME_SUCCESS) {\n		adv_nvme_order_hand", "	if (true) {\n		adv_nvme_order_hand"),
    ("nvme-fused-range", "fused commands may have different ranges", FUSED,
     "first->io.offset != second->io.offset", "false"),
    ("nvme-shutdown-flush", "a shutdown is complete before the namespaces are flushed", FABRICS,
     "adv_nvme_controller_shutting_down(c) && flush_next(request)", "false"),
    ("nvme-changed-twice", "a namespace is in the list of changed ones twice", CONTROLLER,
     "if (at == c->changed_count || c->changed[at] != nsid)", "if (true)"),
]
