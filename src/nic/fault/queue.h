/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue of packets of one direction that a fault plan delays. The queue is ordered by the time at
 * which the packets continue. The owner allocates the packets. Pure: the time is passed in.
 */
#ifndef ADV_NIC_FAULT_QUEUE_H
#define ADV_NIC_FAULT_QUEUE_H

#include <stdint.h>

#include "base/list.h"

/* The queue's part of a kept packet; the rest belongs to the owner. */
struct adv_fault_held {
	struct adv_list node;
	uint64_t due;	 /* ns: the packet continues at this time at the latest */
	unsigned behind; /* later packets that still have to overtake it; 0: only the time counts */
};

struct adv_fault_queue {
	struct adv_list held;
	unsigned count;
	unsigned behind; /* number of kept packets that other packets have to overtake */
};

void adv_fault_queue_init(struct adv_fault_queue *q);
/* Adds a packet. Packets that are due at the same time keep their order. */
void adv_fault_queue_put(struct adv_fault_queue *q, struct adv_fault_held *h);
/* Counts a packet that passed at `now`, for each kept packet that it overtakes. A kept packet that
 * no further packet has to overtake is due now. */
void adv_fault_queue_passed(struct adv_fault_queue *q, uint64_t now);
/* Removes and returns the first packet that is due; NULL: none is. */
struct adv_fault_held *adv_fault_queue_take(struct adv_fault_queue *q, uint64_t now);
/* Returns the time at which the first packet is due; UINT64_MAX: the queue is empty. */
uint64_t adv_fault_queue_due(const struct adv_fault_queue *q);

#endif
