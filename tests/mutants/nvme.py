# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs in src/nvme, in the format of mutants.py."""

CONTROLLER = "src/nvme/controller.c"
FABRICS = "src/nvme/fabrics.c"
FUSED = "src/nvme/fused.c"
HOST_QUEUE = "src/nvme/host_queue.c"
IO = "src/nvme/io.c"
ORDER = "src/nvme/order.c"
QUEUE = "src/nvme/queue.c"
CONFIG = "src/nvme_rdma/config_read.c"
CONTROL = "src/nvme_rdma/control.c"
TASK = "src/nvme_rdma/task.c"
WORKER_ACT = "src/nvme_rdma/worker_act.c"

NVME = [
    ("nvme-stale-write", "a write does not wait for an earlier one on its blocks", ORDER,
     "return a->offset < b->offset + b->length && b->offset < a->offset + a->length;", "return a == b;"),
    ("nvme-waiting-order", "a write passes one that waits", ORDER,
     "overlaps_one(&ns->waiting, NULL, &request->io)", "false"),
    ("nvme-lba-end", "the range may end one block behind the namespace", IO,
     "blocks > ns->blocks - slba", "blocks > ns->blocks - slba + 1"),
    ("nvme-capsule-offset", "data in the capsule may lie behind its end", QUEUE,
     "if (sgl->length > len - sgl->address)", "if (sgl->length > len)"),
    ("nvme-too-many", "a queue takes more commands than its size", QUEUE,
     "queue->unanswered >= queue->size || ", ""),
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
     "adv_nvme_controller_shutting_down(c) && flush_next(request)", "request->range && flush_next(request)"),
    ("nvme-control-user", "any user may change a target", CONTROL,
     "(peer.uid == geteuid() || peer.uid == 0)", "true"),
    ("nvme-control-silent", "silent clients keep others out", CONTROL,
     "close(c->clients[0]);", "close(fd);\n\t\t\tcontinue;"),
    ("nvme-truncated", "a read behind the end of a truncated file succeeds", TASK,
     "result < 0 || (result == 0 && (task->phase == TRANSFER || task->phase == ZERO))", "result < 0"),
    ("nvme-no-punch", "Write Zeroes does nothing if the file system cannot punch holes", TASK,
     "if (io->kind == ADV_NVME_IO_DEALLOCATE)\n\t\t\treturn true;", "return true;"),
    ("nvme-direct-unaligned", "O_DIRECT is used for data that is not aligned", TASK,
     "all % ADV_NVME_DIRECT_ALIGN == 0", "all != 1"),
    ("nvme-config-twice", "a key may be given twice", CONFIG,
     "!keys[i].repeats && (r->seen & 1u << i)", "false"),
    ("nvme-stale-capsule", "capsules of a lost connection stay in the completion queue", WORKER_ACT,
     "if (ibv_modify_qp(c->id->qp, &attr, IBV_QP_STATE) == 0)\n\t\tadv_nvme_worker_drain(w);", "(void)attr;"),
    ("nvme-changed-twice", "a namespace is in the list of changed ones twice", CONTROLLER,
     "if (at == c->changed_count || c->changed[at] != nsid)", "if (true)"),
]
