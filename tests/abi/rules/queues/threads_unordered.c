/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two threads post to one QP at the same time: the order of the messages is left to chance. */
#include <pthread.h>

#include "../lab.h"

#define ROUNDS 20000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lab l;

static void *post_many(void *at)
{
	struct ibv_sge sge = lab_sge(&l, (size_t)at, 8);
	struct ibv_send_wr wr = lab_wr(IBV_WR_RDMA_WRITE, &sge);
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = sge.addr + 8192;
	wr.wr.rdma.rkey = l.mr->rkey;
	for (int i = 0; i < ROUNDS; i++) {
		if (MENDED)
			pthread_mutex_lock(&lock);
		while (ibv_post_send(l.a, &wr, &bad)) /* finds threads-unordered: a */
			ibv_poll_cq(l.cq, 1, &wc);
		if (MENDED)
			pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	lab_open(&l);
	lab_need(!pthread_create(&thread, NULL, post_many, (void *)64), "pthread_create");
	post_many((void *)0);
	pthread_join(thread, NULL);
	lab_close(&l);
	return 0;
}
