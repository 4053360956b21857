/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers that stand for objects towards somebody who is not trusted: a number that was given up
 * comes again only after all others of its place have, so a late use of it finds nothing. 0 is
 * never one. One thread at a time.
 */
#ifndef ADV_DAEMON_HANDLES_H
#define ADV_DAEMON_HANDLES_H

#include <stdint.h>

#define ADV_HANDLES_MAX 262144u

struct adv_handle_place;

/* All zero: empty. */
struct adv_handles {
	struct adv_handle_place *place;
	uint32_t size;
	uint32_t used;
	uint32_t first_free; /* index + 1; 0: none */
	uint32_t last_free;
};

/* *handle stands for `object`, which is not NULL. 0; ENOMEM (also: ADV_HANDLES_MAX are in use). */
int adv_handles_add(struct adv_handles *h, void *object, uint32_t *handle);

/* The object, or NULL. */
void *adv_handles_find(const struct adv_handles *h, uint32_t handle);

/* Gives up a number that is in use. */
void adv_handles_remove(struct adv_handles *h, uint32_t handle);

/* Frees the table, not the objects. */
void adv_handles_free(struct adv_handles *h);

#endif
