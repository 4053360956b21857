/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A pipeline: each completion makes the program post the next request. It goes on after it has
 * polled a failed one. The mended one stops there. What it posts for the good completions before is
 * no mistake: it cannot know of the failure yet. */
#include <unistd.h>

#include "../lab.h"

#define GOOD  10
#define BATCH 16

/* Posts WRITEs, and an atomic that the peer refuses: its address is no multiple of 8. Returns when
 * the queue pair has failed. */
static void fill(const struct lab *l)
{
	struct ibv_async_event event;

	for (size_t i = 0; i < GOOD; i++)
		lab_write(l, l->a, 0, 8, 8192 + 8 * i);
	lab_add(l, l->a, 4096, 16385);
	lab_need(!ibv_get_async_event(l->context, &event), "ibv_get_async_event");
	ibv_ack_async_event(&event);
	usleep(50000);
}

static void post_next(const struct lab *l)
{
	lab_write(l, l->a, 0, 8, 8192); /* finds error-ignored: a */
}

/* Polls one completion a call. Returns how many were left when it stopped. */
static void run_singly(const struct lab *l)
{
	struct ibv_wc wc;
	int posted = 0;

	for (;;) {
		wc = lab_next(l->cq);
		if (wc.status && (MENDED || posted > GOOD + 5))
			break;
		post_next(l);
		posted++;
	}
	lab_drain(l->cq, GOOD);
}

/* Polls many completions a call. */
static void run_in_batches(const struct lab *l)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(l->cq, BATCH, wc);

	lab_need(n == GOOD + 1, "a batch with the failed completion at its end");
	for (int i = 0; i < n && wc[i].status == IBV_WC_SUCCESS; i++)
		post_next(l);
	lab_drain(l->cq, GOOD);
}

int main(void)
{
	struct lab l = {0};

	lab_open(&l);
	fill(&l);
	run_singly(&l);
	lab_reset(&l);
	lab_connect(&l);
	fill(&l);
	run_in_batches(&l);
	lab_close(&l);
	return 0;
}
