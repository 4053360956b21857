/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lesson 8: errors on purpose. Usage: errors call|lkey|rkey|length [SECONDS] */
#include <poll.h>
#include "pair.h"

static void show(struct pair *p, const struct ibv_wc *wc)
{
	say(p, "request %d: status %d (%s), vendor_err %u", (int)wc->wr_id, wc->status,
	    ibv_wc_status_str(wc->status), wc->vendor_err);
}

/* Posts two SENDs of 64 bytes. The first one has the mistake. */
static void client(struct pair *p, const char *mistake)
{
	struct ibv_sge sge[2] = {{(uintptr_t)p->memory, 64, p->mr->lkey}};
	struct ibv_send_wr wr = {.wr_id = 1,
				 .sg_list = sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {.remote_addr = p->peer.address}};
	struct ibv_send_wr *bad;
	int requests = 2;

	if (strcmp(mistake, "call") == 0)
		wr.num_sge = 2; /* create_qp() requested max_send_sge 1 */
	else if (strcmp(mistake, "lkey") == 0)
		sge[0].addr += MEMORY - 32; /* 32 bytes are beyond the region */
	else if (strcmp(mistake, "length") == 0)
		sge[0].length = 128; /* the server receives 64 bytes */
	else {
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.rkey = ~p->peer.rkey; /* the server has no such key */
	}
	errno = ibv_post_send(p->qp, &wr, &bad);
	if (errno) {
		say(p, "request 1: ibv_post_send: %s", strerror(errno));
		requests = 1;
	}
	post(p,
	     (struct ibv_send_wr){
		     .wr_id = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED},
	     64);
	for (int i = 0; i < requests; i++) {
		struct ibv_wc wc = complete(p->cq);

		show(p, &wc);
	}
}

/* Prints everything that has happened at the server: completions and asynchronous events. */
static void server(struct pair *p)
{
	struct pollfd fd = {.fd = p->context->async_fd, .events = POLLIN};
	struct ibv_async_event event;
	struct ibv_wc wc;

	while (ibv_poll_cq(p->cq, 1, &wc) > 0)
		show(p, &wc);
	while (poll(&fd, 1, 0) > 0) {
		check(!ibv_get_async_event(p->context, &event), "ibv_get_async_event");
		say(p, "asynchronous event: %s", ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
}

int main(int argc, char **argv)
{
	struct pair p;

	if (argc < 2)
		errx(2, "usage: errors call|lkey|rkey|length [SECONDS]");
	pair_open(&p);
	pair_connect(&p);
	if (!is_client(&p)) {
		post_receive(&p, 0, 64);
		post_receive(&p, 64, 64);
	}
	meet(&p); /* 1: the receive requests are posted */
	if (is_client(&p))
		client(&p, argv[1]);
	meet(&p); /* 2: the client's requests have ended */
	if (!is_client(&p))
		server(&p);
	pair_stay(&p, argc - 1, argv + 1);
	return pair_close(&p);
}
