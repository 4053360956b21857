/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers by which an untrusted process names its objects. Each place of the table has many
 * numbers. A released number is used again only after all other numbers of its place, so that a
 * late use of the number finds no object. Numbers are never 0. Only one thread at a time may use a
 * table.
 */
#ifndef ADV_RUNTIME_SESSION_HANDLES_H
#define ADV_RUNTIME_SESSION_HANDLES_H

#include <stdint.h>

#define ADV_HANDLES_MAX 262144u

struct adv_handle_place;

/* All zero: an empty table. */
struct adv_handles {
	struct adv_handle_place *place;
	uint32_t size;
	uint32_t used;
	uint32_t first_free; /* index + 1; 0: none */
	uint32_t last_free;
};

/* Sets *handle to a new number of `object`, which is not NULL. 0; ENOMEM (also if ADV_HANDLES_MAX
 * are in use). */
int adv_handles_add(struct adv_handles *h, void *object, uint32_t *handle);

/* Returns the object with this number, or NULL. */
void *adv_handles_find(const struct adv_handles *h, uint32_t handle);

/* Releases a number that is in use. */
void adv_handles_remove(struct adv_handles *h, uint32_t handle);

/* Frees the table, not the objects. */
void adv_handles_free(struct adv_handles *h);

#endif
