/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * blocks host [-p port]
 * blocks target [-p port] [-R] [-r] [-s bytes] [-d depth] [-m MiB] [-t seconds]
 *
 * What the commands of NVMe over Fabrics move, without NVMe: the target WRITEs blocks of its memory
 * to the buffers of the host, as for a Read, or with -R READs them from there, as for a Write. Of
 * the host's buffers there are as many as transfers in flight, as with NVMe, and each is used again
 * for the next block. Blocks follow each other or, with -r, are random. Prints transfers a second.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "floor.h"

enum { DEPTH_MAX = 128, POLLED = 32, POLLS = 1000, HUGE_PAGE = 2 << 20 };
#define BUFFERS ((size_t)64 << 20)

/* The host's buffers, in the private data of its answer. */
struct offer {
	uint64_t address;
	uint32_t key;
};

static struct {
	const char *port;
	bool read, random;
	uint32_t size, depth;
	size_t memory;
	double seconds;
} opt = {"18516", false, false, 4096, 32, 256, 2};

static void die(const char *what)
{
	fprintf(stderr, "blocks: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint8_t *map(size_t size)
{
	uint8_t *p = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	p += -(uintptr_t)p & (HUGE_PAGE - 1);
	madvise(p, size, MADV_HUGEPAGE);
	/* Memory that was never written is one page of zeros, which stays in the cache. */
	memset(p, 1, size);
	return p;
}

static struct rdma_cm_id *endpoint(const char *address, int flags)
{
	struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP}, *found;
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = DEPTH_MAX,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(address, opt.port, &hints, &found) != 0)
		die("rdma_getaddrinfo");
	if (rdma_create_ep(&id, found, NULL, &attr) != 0)
		die("rdma_create_ep");
	rdma_freeaddrinfo(found);
	return id;
}

/* ---- host ---- */

/* Polls its completion queue as the host of NVMe does, which waits for responses. */
static void poll_until_disconnected(struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;
	bool ended = false;
	struct ibv_wc wc;

	if (fcntl(id->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		die("fcntl");
	while (!ended) {
		for (unsigned i = 0; i < POLLS; i++)
			ibv_poll_cq(id->recv_cq, 1, &wc);
		if (rdma_get_cm_event(id->channel, &event) == 0) {
			ended = event->event == RDMA_CM_EVENT_DISCONNECTED;
			rdma_ack_cm_event(event);
		}
	}
}

static int run_host(void)
{
	struct rdma_conn_param param = {.responder_resources = 16, .initiator_depth = 16};
	struct rdma_cm_id *listener = endpoint("0.0.0.0", RAI_PASSIVE), *id;
	struct offer offer;
	uint8_t *buffers = map(BUFFERS);
	struct ibv_mr *mr;

	if (rdma_listen(listener, 1) != 0)
		die("rdma_listen");
	printf("listening\n");
	fflush(stdout);
	if (rdma_get_request(listener, &id) != 0)
		die("rdma_get_request");
	mr = ibv_reg_mr(id->pd, buffers, BUFFERS,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!mr)
		die("ibv_reg_mr");
	offer = (struct offer){(uintptr_t)buffers, mr->rkey};
	param.private_data = &offer;
	param.private_data_len = sizeof(offer);
	if (rdma_accept(id, &param) != 0)
		die("rdma_accept");
	poll_until_disconnected(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	return 0;
}

/* ---- target ---- */

static struct {
	struct rdma_cm_id *id;
	struct offer offer;
	uint8_t *memory;
	struct ibv_mr *mr;
	uint64_t blocks, next, random;
} target = {.random = 88172645463325252};

static void connect_target(void)
{
	struct rdma_conn_param param = {
		.responder_resources = 16, .initiator_depth = 16, .retry_count = 7};

	target.id = endpoint("127.0.0.1", 0);
	target.memory = map(opt.memory);
	target.mr = ibv_reg_mr(target.id->pd, target.memory, opt.memory, IBV_ACCESS_LOCAL_WRITE);
	if (!target.mr || rdma_connect(target.id, &param) != 0)
		die("rdma_connect");
	memcpy(&target.offer, target.id->event->param.conn.private_data, sizeof(target.offer));
}

static uint64_t next_block(void)
{
	if (!opt.random)
		return target.next++ % target.blocks;
	/* xorshift64 */
	target.random ^= target.random << 13;
	target.random ^= target.random >> 7;
	target.random ^= target.random << 17;
	return target.random % target.blocks;
}

/* Begins `count` transfers by one call: those of the host's buffers that are named. */
static void begin(const uint64_t *buffer, unsigned count)
{
	struct ibv_send_wr wr[DEPTH_MAX], *bad;
	struct ibv_sge sge[DEPTH_MAX];

	for (unsigned i = 0; i < count; i++) {
		sge[i] = (struct ibv_sge){(uintptr_t)target.memory + next_block() * opt.size,
					  opt.size, target.mr->lkey};
		wr[i] = (struct ibv_send_wr){
			.wr_id = buffer[i],
			.next = i + 1 < count ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = opt.read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = {target.offer.address + buffer[i] * opt.size, target.offer.key},
		};
	}
	errno = count ? ibv_post_send(target.id->qp, wr, &bad) : 0;
	if (errno)
		die("ibv_post_send");
}

static int run_target(void)
{
	uint64_t buffer[DEPTH_MAX], done = 0, start, now, end;
	struct ibv_wc wc[POLLED];
	int n;

	connect_target();
	target.blocks = opt.memory / opt.size;
	for (uint32_t i = 0; i < opt.depth; i++)
		buffer[i] = i;
	start = now = floor_now();
	end = start + (uint64_t)(opt.seconds * 1e9);
	begin(buffer, opt.depth);
	while (now < end) {
		n = ibv_poll_cq(target.id->send_cq, POLLED, wc);
		for (int i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS) {
				fprintf(stderr, "blocks: %s\n", ibv_wc_status_str(wc[i].status));
				return 1;
			}
			buffer[i] = wc[i].wr_id;
		}
		begin(buffer, n > 0 ? (unsigned)n : 0);
		done += n > 0 ? (uint64_t)n : 0;
		now = floor_now();
	}
	printf("transfers=%.0f\n", (double)done / ((double)(now - start) / 1e9));
	rdma_disconnect(target.id);
	rdma_destroy_ep(target.id);
	return 0;
}

int main(int argc, char **argv)
{
	bool host = argc > 1 && strcmp(argv[1], "host") == 0;
	int c;

	if (argc < 2 || (!host && strcmp(argv[1], "target") != 0)) {
		fprintf(stderr, "usage: blocks host|target [options]\n");
		return 2;
	}
	optind = 2;
	while ((c = getopt(argc, argv, "p:Rrs:d:m:t:")) != -1) {
		switch (c) {
		case 'p':
			opt.port = optarg;
			break;
		case 'R':
			opt.read = true;
			break;
		case 'r':
			opt.random = true;
			break;
		case 's':
			opt.size = (uint32_t)atoi(optarg);
			break;
		case 'd':
			opt.depth = (uint32_t)atoi(optarg);
			break;
		case 'm':
			opt.memory = (size_t)atoi(optarg);
			break;
		case 't':
			opt.seconds = atof(optarg);
			break;
		default:
			return 2;
		}
	}
	opt.memory <<= 20;
	if (opt.depth < 1 || opt.depth > DEPTH_MAX || opt.size < 1 || opt.size > opt.memory ||
	    (size_t)opt.depth * opt.size > BUFFERS) {
		fprintf(stderr, "blocks: a depth or size out of range\n");
		return 2;
	}
	return host ? run_host() : run_target();
}
