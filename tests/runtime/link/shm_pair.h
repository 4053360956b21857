/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two shared-memory links of this process, with slots of their own. */
#ifndef ADV_TESTS_RUNTIME_LINK_SHM_PAIR_H
#define ADV_TESTS_RUNTIME_LINK_SHM_PAIR_H

#include "harness.h"

#include "runtime/link/shm.h"
#include "nic/wire/slot.h"

#define RING_SIZE (64u << 10)
#define SLOT_A	  301
#define SLOT_B	  ((unsigned)ADV_SLOTS - 1)
#define QPN_A	  (adv_qpn_of_slot(SLOT_A) + 7)
#define QPN_B	  (adv_qpn_of_slot(SLOT_B) + 9)

struct pair {
	struct adv_link *a;
	struct adv_link *b;
	struct adv_path to_b;
	struct adv_path to_a;
};

/* The clock of the links, ns. */
extern uint64_t shm_pair_now;

/* Set-up and teardown of a test with a struct pair as its state. */
int shm_pair_make(void **state);
int shm_pair_end(void **state);

/* Attaches new memory to both links. Returns the memory's descriptor, which belongs to the caller.
 */
int shm_pair_share(struct pair *p);
/* As shm_pair_share(), without the descriptor. */
void shm_pair_attach(struct pair *p);

#endif
