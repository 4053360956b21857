# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs in src/nvme, in the format of mutants.py."""

CONTROLLER = "src/nvme/controller.c"
FABRICS = "src/nvme/fabrics.c"
FUSED = "src/nvme/fused.c"
HOST_QUEUE = "src/nvme/host_queue.c"
IO = "src/nvme/io.c"
ORDER = "src/nvme/order.c"
QUEUE = "src/nvme/queue.c"
ADMIN = "src/nvme/admin.c"
FEATURES = "src/nvme/features.c"
LOG_PAGES = "src/nvme/log_pages.c"
RESPOND = "src/nvme/respond.c"
CONFIG = "src/nvme_rdma/config_read.c"
CONTROL = "src/nvme_rdma/control.c"
TASK = "src/nvme_rdma/task.c"
WORKER_ACT = "src/nvme_rdma/worker_act.c"
WORKER_RESPOND = "src/nvme_rdma/worker_respond.c"

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
    ("nvme-queues-larger", "as many queues are granted as the larger of two numbers wants", FEATURES,
     "submission < completion ? submission : completion", "submission > completion ? submission : completion"),
    ("nvme-queues-limit", "more queues are granted than the target has", FEATURES,
     "(uint16_t)(count < most ? count : most)", "(uint16_t)count"),
    ("nvme-feature-save", "a feature is said to be saved", FEATURES,
     "if (ADV_NVME_CDW(&request->command, 10) & SAVE)", "if (false)"),
    ("nvme-log-offset", "a log page is read from behind its end", LOG_PAGES,
     "if (log.offset > page.len) {", "if (false) {"),
    ("nvme-log-retain", "an event is reported again though the host retains it", LOG_PAGES,
     "	if (log->retain)\n		return;\n", ""),
    ("nvme-log-rest", "the rest of a log page's buffer keeps what another host wrote", LOG_PAGES,
     "	memset(request->data + len, 0, log.length - len);\n", ""),
    ("nvme-discover-hidden", "the discovery log names subsystems that the host may not use", LOG_PAGES,
     "if (s->discovery || !adv_nvme_subsystem_allows(s, c->host_nqn))", "if (s->discovery)"),
    ("nvme-discover-wildcard", "the discovery log has an address that is a wildcard", LOG_PAGES,
     "!port->referral && is_wildcard(port)", "port->referral && is_wildcard(port)"),
    ("nvme-connect-host-id", "another host's identifier may join a controller", FABRICS,
     "if (memcmp(data->host_id, c->host_id, sizeof(c->host_id)) != 0)", "if (false)"),
    ("nvme-connect-host-nqn", "another host's name may join a controller", FABRICS,
     "if (strcmp(data->host_nqn, c->host_nqn) != 0)", "if (false)"),
    ("nvme-connect-allowed", "a host that is not allowed connects", FABRICS,
     "if (!adv_nvme_subsystem_allows(subsystem, data.host_nqn))", "if (false)"),
    ("nvme-connect-sqsize", "a submission queue is larger than its connection's queue", FABRICS,
     "connect.sqsize == 0 || connect.sqsize >= request->queue->size", "connect.sqsize == 0"),
    ("nvme-reset-queues", "I/O queues survive a reset of their controller", CONTROLLER,
     "		c->event_config = 0;\n		fail_io_queues(c);\n", "		c->event_config = 0;\n"),
    ("nvme-expired-admin", "the admin queue survives its keep alive timer", CONTROLLER,
     "	if (c->admin)\n		adv_nvme_queue_fail(c->admin);\n", ""),
    ("nvme-event-requests", "any number of asynchronous event requests is held", CONTROLLER,
     "if (c->event_request_count >= ADV_NVME_AER_MAX)", "if (false)"),
    ("nvme-page-size", "a controller is enabled with a page size that it does not have", CONTROLLER,
     "CC_CSS_MPS(cc) != 0 || ", ""),
    ("nvme-list-after", "the list of namespaces begins with the one that the host knows", ADMIN,
     "for (uint32_t i = request->command.nsid + 1; i", "for (uint32_t i = request->command.nsid | 1; i"),
    ("nvme-completion-twice", "a completion that comes twice ends the next command", HOST_QUEUE,
     "	q->slots[index].generation++;\n", ""),
    ("nvme-sgl-exact", "an I/O command's SGL may be longer than its data", QUEUE,
     "(exact && sgl->length != request->data_length)", "(exact && sgl->length < request->data_length)"),
    ("nvme-response-data", "a Read that failed sends its buffer", RESPOND,
     "if (status == ADV_NVME_SUCCESS &&\n	    adv_nvme_command_direction", "if (adv_nvme_command_direction"),
    ("nvme-response-head", "the head of the queue is told without flow control", RESPOND,
     "queue->flow_control ? queue->sq_head : 0xffff", "queue->sq_head"),
    ("nvme-held-closed", "a write of a lost connection still waits, and holds later ones", QUEUE,
     "		adv_nvme_order_cancel(request);\n", ""),
    ("nvme-in-place-key", "data in place is sent with the key of the buffers", WORKER_RESPOND,
     "if (!adv_nvme_buffers_owns(w->buffers, request->data))", "if (false)"),
    ("nvme-in-place-write", "data in place is taken for a buffer that is free", "src/nvme_rdma/buffers.c",
     "	if (!adv_nvme_buffers_owns(b, buffer))\n		return;\n", ""),
]
