/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lesson 9: packet loss, a receiver that is not ready, and timeouts.
 * Usage: loss ready|late|never [SECONDS]; the word: when the server posts receive requests
 */
#include <poll.h>
#include "pair.h"

#define MESSAGES 320
#define ROUND	 16 /* messages in flight */
#define SIZE	 64

/* Sends a round of numbered messages at once. Returns whether all of them succeeded. */
static int send_round(struct pair *p, uint32_t first)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};

	for (wr.wr_id = first; wr.wr_id < first + ROUND; wr.wr_id++) {
		memcpy(p->memory, &wr.wr_id, sizeof(wr.wr_id));
		post(p, wr, SIZE);
	}
	for (int i = 0; i < ROUND; i++) {
		struct ibv_wc wc = complete(p->cq);

		if (wc.status != IBV_WC_SUCCESS) {
			say(p, "message %u: status %d (%s), vendor_err %u", (unsigned)wc.wr_id,
			    wc.status, ibv_wc_status_str(wc.status), wc.vendor_err);
			return 0;
		}
	}
	return 1;
}

static void post_receives(struct pair *p)
{
	for (size_t i = 0; i < ROUND; i++)
		post_receive(p, i * SIZE, SIZE);
}

/* Receives a round, or less if the client gave up. Returns the number of messages. */
static int receive_round(struct pair *p, uint64_t first)
{
	struct pollfd client = {.fd = p->sock, .events = POLLIN};
	int received = 0;

	while (received < ROUND) {
		int has_ended = poll(&client, 1, 0) > 0; /* the client waits in meet() */
		struct ibv_wc wc;
		uint64_t number;
		int n = ibv_poll_cq(p->cq, 1, &wc);

		check(n >= 0, "ibv_poll_cq");
		if (n == 0 && has_ended)
			break;
		if (n == 0)
			continue;
		if (wc.status != IBV_WC_SUCCESS)
			errx(1, "receive: %s", ibv_wc_status_str(wc.status));
		memcpy(&number, p->memory + wc.wr_id, sizeof(number));
		if (number != first + received++)
			errx(1, "message %u is out of order", (unsigned)number);
	}
	return received;
}

int main(int argc, char **argv)
{
	const char *when = argc > 1 ? argv[1] : "ready";
	uint32_t done = 0;
	int n = ROUND;
	struct pair p;

	pair_open(&p);
	p.attr.min_rnr_timer = 14; /* 1.28 ms */
	p.attr.timeout = 14;	   /* 67 ms */
	if (strcmp(when, "never") == 0)
		p.attr.rnr_retry = 3; /* attempts; 7 is without end */
	pair_connect(&p);
	while (done < MESSAGES && n == ROUND) {
		if (!is_client(&p) && strcmp(when, "ready") == 0)
			post_receives(&p);
		meet(&p); /* the client may send */
		if (!is_client(&p) && strcmp(when, "late") == 0) {
			usleep(20000);
			post_receives(&p);
		}
		if (is_client(&p))
			n = send_round(&p, done) ? ROUND : 0;
		else
			n = receive_round(&p, done);
		done += (uint32_t)n;
	}
	if (is_client(&p))
		say(&p, "%u messages sent", done);
	meet(&p);
	if (!is_client(&p))
		say(&p, "%u messages received", done);
	pair_stay(&p, argc - 1, argv + 1);
	return pair_close(&p);
}
