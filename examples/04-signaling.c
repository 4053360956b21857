/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lesson 4: signaled and unsignaled requests, inline data, and when memory may be used again. */
#include "pair.h"

#define SLOTS	 16 /* max_send_wr of create_qp() */
#define EACH	 8  /* every eighth request is signaled */
#define REQUESTS 64

/* Sends many WRITEs through a short send queue. */
static void write_many(struct pair *p)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
				 .wr.rdma = {.remote_addr = p->peer.address, .rkey = p->peer.rkey}};
	int slots = SLOTS, completions = 0;

	for (int i = 1; i <= REQUESTS; i++) {
		if (slots == 0) { /* a completion frees all requests up to its own */
			struct ibv_wc wc = complete(p->cq);

			say(p, "send queue full; completion of request %d: %s", (int)wc.wr_id,
			    ibv_wc_status_str(wc.status));
			completions++;
			slots += EACH;
		}
		wr.wr_id = (uint64_t)i;
		wr.send_flags = i % EACH == 0 ? IBV_SEND_SIGNALED : 0;
		post(p, wr, 64);
		slots--;
	}
	for (; completions < REQUESTS / EACH; completions++)
		complete_well(p->cq, "a WRITE");
	say(p, "%d requests, %d completions", REQUESTS, completions);
}

/* Changes the memory of an inline SEND at once: the data is in the request already. */
static void send_inline(struct pair *p)
{
	struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE};

	strcpy(p->memory, "first");
	post(p, wr, 64);
	strcpy(p->memory, "second");
	wr.wr_id = 2;
	wr.send_flags |= IBV_SEND_SIGNALED;
	post(p, wr, 64);
	strcpy(p->memory, "neither");
	complete_well(p->cq, "the second SEND");
}

static void receive(struct pair *p)
{
	struct ibv_wc wc = complete(p->cq);

	say(p, "receive: %s, '%s'", ibv_wc_status_str(wc.status), p->memory + wc.wr_id);
}

int main(int argc, char **argv)
{
	struct pair p;

	pair_open(&p);
	pair_connect(&p);
	if (is_client(&p)) {
		write_many(&p);
		meet(&p);
		send_inline(&p);
	} else {
		post_receive(&p, 0, 64);
		post_receive(&p, 64, 64);
		meet(&p);
		receive(&p);
		receive(&p);
	}
	pair_stay(&p, argc, argv);
	return pair_close(&p);
}
