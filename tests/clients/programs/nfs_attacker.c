/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nfs_attacker ACT address port
 *
 * A hostile NFS client over RDMA. Exit status: 0 if the gateway did as it should, by disconnecting
 * this client or by answering; 1 if not, or if that took too long.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "requester.h"
#include "base/bytes.h"

enum {
	MANY = 1000, /* more than a client may have unanswered */
	LARGE = 1 << 20,
	LARGE_CALLS = 8,
	GARBAGE_MESSAGES = 400,
	SWARM = 5,
	GREEDY_CALLS = 400,
	DRIP_CALLS = 60,
	DRIP_US = 500000,
};

static struct requester r;
static struct request q;
static struct reply p;
static const char *host, *port;

static void wrong(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static void connect_with(unsigned receives)
{
	if (!requester_connect(&r, host, port, receives))
		wrong("refused");
}

static void start_read(struct requester *from, uint32_t length)
{
	request_start(from, &q, NFS3_READ);
	request_handle(&q, "file");
	request_word(&q, 0);
	request_word(&q, 0);
	request_word(&q, length);
}

/* Sends the call; the gateway has to disconnect. */
static void expect_end(const char *what)
{
	if (request_send(&r, &q) && reply_await(&r, &p))
		wrong(what);
	requester_close(&r);
}

static void make_write(struct requester *from, struct adv_rpcrdma_segment **segment)
{
	request_start(from, &q, NFS3_WRITE);
	request_handle(&q, "file");
	request_word(&q, 0);
	request_word(&q, 0);
	request_word(&q, LARGE);
	request_word(&q, 2);
	request_word(&q, LARGE);
	request_read_chunk(from, &q, (uint32_t)q.length, from->memory, LARGE, 1);
	*segment = &q.header.reads[0].segment;
}

static void make_read(struct requester *from, struct adv_rpcrdma_segment **segment)
{
	start_read(from, LARGE);
	request_write_chunk(from, &q, LARGE, 1);
	*segment = &q.header.segments[0];
}

static void make_long_read(struct requester *from, struct adv_rpcrdma_segment **segment)
{
	start_read(from, LARGE);
	request_reply_chunk(from, &q, LARGE + 1024, 1);
	*segment = &q.header.segments[0];
}

/* Memory that is not the client's: a wrong key, or addresses outside the registered memory. */
static void keys(void)
{
	static void (*const make[])(struct requester *, struct adv_rpcrdma_segment **) = {
		make_write, make_read, make_long_read};
	struct adv_rpcrdma_segment *segment;

	for (unsigned i = 0; i < 3; i++) {
		connect_with(REQUESTER_RECEIVES);
		make[i](&r, &segment);
		segment->handle += 0x100;
		expect_end("a wrong key was accepted");
		connect_with(REQUESTER_RECEIVES);
		make[i](&r, &segment);
		segment->offset = (uintptr_t)r.memory + REQUESTER_MEMORY - LARGE + 1;
		expect_end("an address outside the memory was accepted");
	}
}

/* Few large calls, whose replies it does not take. They hold much of the gateway's memory. */
static void deaf(void)
{
	struct adv_rpcrdma_segment *segment;

	connect_with(0);
	for (int i = 0; i < LARGE_CALLS; i++) {
		make_read(&r, &segment);
		if (!request_send(&r, &q))
			break;
	}
	puts("waiting");
	fflush(stdout);
	if (reply_await(&r, &p))
		wrong("a reply arrived without a receive");
	requester_close(&r);
}

/* More calls than a client may have, and it does not take the replies. */
static void flood(void)
{
	connect_with(0);
	for (int i = 0; i < MANY; i++) {
		request_start(&r, &q, NFS3_NULL);
		if (!request_send(&r, &q)) {
			requester_close(&r);
			return;
		}
	}
	wrong("the gateway accepts calls without end");
}

/* As flood(), with messages that are refused. */
static void flood_of_errors(void)
{
	connect_with(0);
	for (int i = 0; i < MANY; i++) {
		request_start(&r, &q, NFS3_NULL);
		q.header.version = 7;
		if (!request_send(&r, &q)) {
			requester_close(&r);
			return;
		}
	}
	wrong("the gateway accepts wrong messages without end");
}

/* Messages of any bytes, and calls of which some bytes are changed or missing. The gateway may
 * disconnect at each of them. */
static void garbage(void)
{
	uint64_t dice = 5;

	connect_with(REQUESTER_RECEIVES);
	for (int i = 0; i < GARBAGE_MESSAGES; i++) {
		struct adv_rpcrdma_segment *segment;
		uint8_t message[REQUESTER_INLINE];
		size_t length;

		make_long_read(&r, &segment);
		length = adv_rpcrdma_header_encode(&q.header, message, sizeof(message));
		memcpy(message + length, q.body, q.length);
		length += q.length;
		for (int n = 0; n < 1 + i % 4; n++) {
			dice = dice * 6364136223846793005u + 1442695040888963407u;
			if (i % 16 == 0)
				length = (dice >> 40) % (length + 1);
			else
				message[(dice >> 40) % length] = (uint8_t)(dice >> 32);
		}
		if (!requester_send(&r, message, length)) {
			requester_close(&r);
			connect_with(REQUESTER_RECEIVES);
		}
	}
	requester_close(&r);
}

/* The same call again and again, with other chunks each time. */
static void duplicates(void)
{
	struct adv_rpcrdma_segment *segment;
	uint32_t xid;

	connect_with(REQUESTER_RECEIVES);
	make_long_read(&r, &segment);
	xid = q.header.xid;
	for (int i = 0; i < REQUESTER_RECEIVES / 2; i++) {
		segment->offset++;
		if (!request_send(&r, &q))
			wrong("disconnected for sending a call again");
	}
	request_start(&r, &q, NFS3_NULL);
	if (!request_send(&r, &q))
		wrong("disconnected for sending a call again");
	do {
		if (!reply_await(&r, &p))
			wrong("disconnected for sending a call again");
	} while (p.header.xid == xid);
	if (p.header.xid != q.header.xid)
		wrong("another reply");
	requester_close(&r);
}

/* More connections than the gateway accepts: it has to accept SWARM - 1. */
static void swarm(void)
{
	static struct requester each[SWARM];
	int n = 0;

	while (n < SWARM && requester_connect(&each[n], host, port, 1))
		n++;
	if (n != SWARM - 1)
		wrong(n == SWARM ? "the gateway accepts any number of clients" : "too few clients");
	for (int i = 0; i < n; i++)
		requester_close(&each[i]);
	/* The gateway learns of the ends later. */
	for (int i = 0; i < 500; i++) {
		if (requester_connect(&each[0], host, port, 1)) {
			requester_close(&each[0]);
			return;
		}
		usleep(20000);
	}
	wrong("the gateway does not accept clients again");
}

static void send_write(struct requester *to)
{
	struct adv_rpcrdma_segment *segment;

	make_write(to, &segment);
	if (!request_send(to, &q))
		wrong("disconnected for a call");
}

/* Always has more calls than the gateway has memory for. Another client with one call gets its
 * turn. */
static void greedy(void)
{
	static struct requester other;
	struct ibv_wc wc;

	connect_with(REQUESTER_RECEIVES);
	if (!requester_connect(&other, host, port, 1))
		wrong("refused");
	for (int i = 0; i < REQUESTER_RECEIVES; i++)
		send_write(&r);
	send_write(&other);
	for (int i = 0; i < GREEDY_CALLS; i++) {
		if (!reply_await(&r, &p))
			wrong("disconnected for many calls");
		send_write(&r);
		if (ibv_poll_cq(other.id->recv_cq, 1, &wc) > 0) {
			requester_close(&other);
			requester_close(&r);
			return;
		}
	}
	wrong("another client does not get memory");
}

/* It takes replies, but slowly. */
static void drip(void)
{
	connect_with(1);
	for (int i = 0; i < DRIP_CALLS; i++) {
		request_start(&r, &q, NFS3_NULL);
		if (!request_send(&r, &q))
			wrong("disconnected for a call");
	}
	for (int i = 0; i < DRIP_CALLS; i++) {
		usleep(DRIP_US);
		if (!reply_await(&r, &p)) {
			requester_close(&r);
			return;
		}
	}
	wrong("a client may take its replies as slowly as it likes");
}

/* Connects, and does nothing more until it is disconnected. */
static void mute(void)
{
	connect_with(REQUESTER_RECEIVES);
	if (reply_await(&r, &p))
		wrong("a message arrived");
	requester_close(&r);
}

/* Connects, calls once, and does nothing more until it is disconnected. */
static void silent(void)
{
	connect_with(REQUESTER_RECEIVES);
	request_start(&r, &q, NFS3_NULL);
	if (!request_send(&r, &q) || !reply_await(&r, &p))
		wrong("the first call failed");
	puts("waiting");
	fflush(stdout);
	if (reply_await(&r, &p))
		wrong("a message arrived");
	requester_close(&r);
}

static const struct {
	const char *name;
	void (*run)(void);
} acts[] = {
	{"keys", keys},	      {"deaf", deaf},
	{"flood", flood},     {"errors", flood_of_errors},
	{"garbage", garbage}, {"duplicates", duplicates},
	{"swarm", swarm},     {"mute", mute},
	{"silent", silent},   {"greedy", greedy},
	{"drip", drip},
};

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	host = argv[2];
	port = argv[3];
	for (unsigned i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		if (strcmp(acts[i].name, argv[1]) == 0) {
			acts[i].run();
			printf("ok: %s\n", argv[1]);
			return 0;
		}
	}
	return 2;
}
