/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lesson 6: completion events, solicited events, and asynchronous events. */
#include <poll.h>
#include "pair.h"

/* Sleeps until a completion event, then polls all completions. Returns their number. */
static int sleep_and_drain(struct pair *p)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *cq_context;
	int n, total = 0;

	check(!ibv_get_cq_event(p->channel, &cq, &cq_context), "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	while ((n = ibv_poll_cq(cq, 1, &wc)) > 0) {
		if (wc.status != IBV_WC_SUCCESS)
			errx(1, "receive: %s", ibv_wc_status_str(wc.status));
		total++;
	}
	check(n == 0, "ibv_poll_cq");
	return total;
}

/* Arms the completion queue: its next completion (solicited only, or any) raises one event. */
static void arm(struct pair *p, int solicited_only)
{
	errno = ibv_req_notify_cq(p->cq, solicited_only);
	check(!errno, "ibv_req_notify_cq");
}

/* Prints asynchronous events until there is none for some seconds. */
static void watch(struct pair *p, int seconds)
{
	struct pollfd fd = {.fd = p->context->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	say(p, "stays until there is no event for %d s", seconds);
	while (poll(&fd, 1, 1000 * seconds) > 0) {
		check(!ibv_get_async_event(p->context, &event), "ibv_get_async_event");
		say(p, "asynchronous event: %s", ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
}

static void server(struct pair *p)
{
	for (size_t i = 0; i < 4; i++)
		post_receive(p, i * 64, 64);
	arm(p, 1);
	meet(p); /* 1 */
	say(p, "one solicited event, %d completions", sleep_and_drain(p));
	arm(p, 0);
	meet(p); /* 2 */
	say(p, "one event, %d completions", sleep_and_drain(p));
	meet(p); /* 3 */
}

static void send_message(struct pair *p, unsigned flags)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED | flags};

	post(p, wr, 64);
	complete_well(p->cq, "SEND");
}

static void client(struct pair *p)
{
	meet(p); /* 1: the server sleeps */
	send_message(p, 0);
	send_message(p, 0);
	send_message(p, IBV_SEND_SOLICITED);
	meet(p); /* 2 */
	send_message(p, 0);
	meet(p); /* 3 */
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
	meet(&p);
	if (is_client(&p) && argc > 1)
		watch(&p, atoi(argv[1]));
	meet(&p);
	return pair_close(&p);
}
