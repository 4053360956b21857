/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme/host_queue.h"

#include <errno.h>
#include <stdlib.h>

/* An identifier is an index, with a generation in its upper bits: a completion that comes twice
 * does not end the next command of the same index. */
struct slot {
	void *user; /* NULL: free */
	uint16_t next_free;
	uint16_t generation;
};

struct adv_nvme_host_queue {
	uint16_t count; /* slots */
	uint16_t outstanding;
	uint16_t first_free;
	unsigned index_bits;
	struct slot slots[];
};

struct adv_nvme_host_queue *adv_nvme_host_queue_create(uint16_t size)
{
	uint16_t count = (uint16_t)(size - 1);
	struct adv_nvme_host_queue *q = calloc(1, sizeof(*q) + count * sizeof(q->slots[0]));

	if (!q)
		return NULL;
	q->count = count;
	for (uint16_t i = 0; i < count; i++)
		q->slots[i].next_free = (uint16_t)(i + 1);
	while (1u << q->index_bits < count)
		q->index_bits++;
	return q;
}

void adv_nvme_host_queue_destroy(struct adv_nvme_host_queue *q)
{
	free(q);
}

static uint16_t id_of(const struct adv_nvme_host_queue *q, uint16_t index)
{
	return (uint16_t)(index | (unsigned)q->slots[index].generation << q->index_bits);
}

int adv_nvme_host_queue_start(struct adv_nvme_host_queue *q, struct adv_nvme_command *command,
			      void *user)
{
	uint16_t index = q->first_free;

	if (q->outstanding == q->count)
		return EAGAIN;
	q->first_free = q->slots[index].next_free;
	q->slots[index].user = user;
	q->outstanding++;
	command->id = id_of(q, index);
	return 0;
}

static void *end_slot(struct adv_nvme_host_queue *q, uint16_t index)
{
	void *user = q->slots[index].user;

	q->slots[index].user = NULL;
	q->slots[index].generation++;
	q->slots[index].next_free = q->first_free;
	q->first_free = index;
	q->outstanding--;
	return user;
}

void *adv_nvme_host_queue_end(struct adv_nvme_host_queue *q,
			      const struct adv_nvme_completion *completion)
{
	uint16_t index = (uint16_t)(completion->id & ((1u << q->index_bits) - 1));

	if (index >= q->count || !q->slots[index].user || completion->id != id_of(q, index))
		return NULL;
	return end_slot(q, index);
}

void *adv_nvme_host_queue_next_lost(struct adv_nvme_host_queue *q)
{
	for (uint16_t i = 0; i < q->count; i++) {
		if (q->slots[i].user)
			return end_slot(q, i);
	}
	return NULL;
}

uint16_t adv_nvme_host_queue_outstanding(const struct adv_nvme_host_queue *q)
{
	return q->outstanding;
}
