/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends many messages with few outstanding. Prints how much the heap has grown between the first
 * and the last ones, which includes what `adverb check` keeps. */
#include <malloc.h>
#include <stdio.h>

#include "lab.h"

#define FIRST	    500
#define ALL	    20000
#define OUTSTANDING 8

static void send_some(const struct lab *l)
{
	for (size_t i = 0; i < OUTSTANDING; i++)
		lab_recv(l, l->b, 4096 + 64 * i, 64);
	for (size_t i = 0; i < OUTSTANDING; i++)
		lab_send(l, l->a, 64 * i, 64);
	lab_wait(l->cq, 2 * OUTSTANDING);
}

int main(void)
{
	struct lab l = {0};
	size_t before;

	lab_open(&l);
	for (int i = 0; i < FIRST; i += OUTSTANDING)
		send_some(&l);
	before = mallinfo2().uordblks;
	for (int i = FIRST; i < ALL; i += OUTSTANDING)
		send_some(&l);
	printf("growth: %zd\n", (ssize_t)(mallinfo2().uordblks - before));
	lab_close(&l);
	return 0;
}
