/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lesson 3: WRITE, WRITE with immediate data, READ, and what the peer sees of each. */
#include <arpa/inet.h>
#include "pair.h"

/* Posts a request for the peer's memory, waits for its end, and prints its completion. */
static void request(struct pair *p, enum ibv_wr_opcode opcode, const char *name, uint32_t length)
{
	struct ibv_send_wr wr = {.opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htonl(2026),
				 .wr.rdma = {.remote_addr = p->peer.address, .rkey = p->peer.rkey}};
	struct ibv_wc wc;

	post(p, wr, length);
	wc = complete(p->cq);
	say(p, "%s: %s", name, ibv_wc_status_str(wc.status));
}

static void client(struct pair *p)
{
	strcpy(p->memory, "written");
	request(p, IBV_WR_RDMA_WRITE, "WRITE", 8);
	meet(p); /* 1: the server looks */
	meet(p); /* 2: it has posted a receive request */
	strcpy(p->memory, "written again");
	request(p, IBV_WR_RDMA_WRITE_WITH_IMM, "WRITE with immediate data", 14);
	meet(p); /* 3: the server looks */
	meet(p); /* 4: it has changed its memory */
	request(p, IBV_WR_RDMA_READ, "READ", MEMORY);
	say(p, "memory '%s'", p->memory);
	meet(p); /* 5 */
}

/* Prints what the server sees without any request of its own. */
static void look(struct pair *p)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(p->cq, 1, &wc);

	check(n >= 0, "ibv_poll_cq");
	say(p, "memory '%s', %d completions", p->memory, n);
	if (n)
		say(p, "completion: %s, immediate data %u, %u bytes", ibv_wc_status_str(wc.status),
		    ntohl(wc.imm_data), wc.byte_len);
}

static void server(struct pair *p)
{
	meet(p); /* 1 */
	look(p);
	post_receive(p, 0, MEMORY);
	meet(p); /* 2 */
	meet(p); /* 3 */
	look(p);
	strcpy(p->memory, "changed by the server");
	meet(p); /* 4 */
	meet(p); /* 5 */
	look(p);
}

int main(int argc, char **argv)
{
	struct pair p;

	pair_open(&p);
	pair_connect(&p);
	if (is_client(&p))
		client(&p);
	else
		server(&p);
	pair_stay(&p, argc, argv);
	return pair_close(&p);
}
