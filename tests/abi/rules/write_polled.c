/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes a WRITE for complete when its last byte has changed. Mended, the program waits for a
 * completion. Exits with 3 if the first byte was old then. Run with a plan that tears payloads. */
#include <pthread.h>
#include <stdlib.h>

#include "lab.h"

#define ROUNDS 10
#define LENGTH 64
#define TARGET 4096

static struct lab l;
static int stale;

static void *poll_memory(void *round)
{
	const volatile uint8_t *target = l.buffer + TARGET;
	const uint8_t number = *(const uint8_t *)round;

	while (target[LENGTH - 1] != number)
		;
	stale += target[0] != number;
	return NULL;
}

static void write_to_peer(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = lab_sge(&l, 0, LENGTH);
	struct ibv_send_wr wr = lab_wr(opcode, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)l.buffer + TARGET;
	wr.wr.rdma.rkey = l.mr->rkey;
	lab_post(l.a, &wr);
}

int main(void)
{
	lab_open(&l);
	for (uint8_t round = 1; round <= ROUNDS; round++) {
		pthread_t reader;

		for (int i = 0; i < LENGTH; i++)
			l.buffer[i] = round;
		if (MENDED) {
			lab_recv(&l, l.b, 8192, 64);
			write_to_peer(IBV_WR_RDMA_WRITE_WITH_IMM);
			lab_wait(l.cq, 2);
			poll_memory(&round);
			continue;
		}
		lab_need(!pthread_create(&reader, NULL, poll_memory, &round), "pthread_create");
		write_to_peer(IBV_WR_RDMA_WRITE);
		lab_wait(l.cq, 1);
		pthread_join(reader, NULL);
	}
	lab_close(&l);
	return stale ? 3 : 0;
}
