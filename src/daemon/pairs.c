/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "daemon/pairs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/shm.h"

#define FEW	16 /* pairs of a slot that are large ... */
#define SEVERAL 64 /* ... and that are medium */

/* Of the slots a < b. Side 0 is a's. */
struct pair {
	bool asked[2];
	bool fetched[2];
	bool made;
	int memory_fd; /* until both have fetched it; -1 */
	uint32_t size;
};

struct adv_pairs {
	unsigned kept_most;
	bool shared;
	struct adv_pair_use all;
	struct adv_pair_use *use[ADV_SLOTS]; /* NULL: nobody's */
	unsigned of_slot[ADV_SLOTS];	     /* how many */
	struct pair *pair[ADV_SLOTS][ADV_SLOTS];
};

struct adv_pairs *adv_pairs_create(unsigned kept, bool shared)
{
	struct adv_pairs *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->kept_most = kept;
	p->shared = shared;
	return p;
}

void adv_pairs_charge(struct adv_pairs *p, unsigned slot, struct adv_pair_use *use)
{
	p->use[slot] = use;
}

static struct pair **place(const struct adv_pairs *p, unsigned slot, unsigned peer)
{
	struct adv_pairs *all = (struct adv_pairs *)(uintptr_t)p;

	return slot < peer ? &all->pair[slot][peer] : &all->pair[peer][slot];
}

static struct pair *find(const struct adv_pairs *p, unsigned slot, unsigned peer)
{
	return *place(p, slot, peer);
}

static void set_bit(uint8_t *bits, unsigned i)
{
	bits[i / 8] |= (uint8_t)(1u << i % 8);
}

/* ---- counting ---- */

static void charge(struct adv_pair_use *use, int made, int kept)
{
	use->made += (unsigned)made;
	use->kept += (unsigned)kept;
}

static void count(struct adv_pairs *p, unsigned slot, unsigned peer, int made, int kept)
{
	struct adv_pair_use *a = p->use[slot], *b = p->use[peer];

	charge(&p->all, made, kept);
	if (a)
		charge(a, made, kept);
	if (b && b != a)
		charge(b, made, kept);
	p->of_slot[slot] += (unsigned)made;
	p->of_slot[peer] += (unsigned)made;
}

static bool has_its_share(const struct adv_pairs *p, const struct adv_pair_use *use)
{
	return p->shared && use &&
	       (use->made >= ADV_PAIRS_MAX / 2 || use->kept >= p->kept_most / 2);
}

/* ---- making ---- */

static uint32_t size_for(const struct adv_pairs *p, unsigned slot, unsigned peer)
{
	unsigned most = p->of_slot[slot] > p->of_slot[peer] ? p->of_slot[slot] : p->of_slot[peer];

	if (most < FEW)
		return ADV_PAIR_LARGE;
	return most < SEVERAL ? ADV_PAIR_MEDIUM : ADV_PAIR_SMALL;
}

static int make(struct adv_pairs *p, struct pair *pair, unsigned slot, unsigned peer)
{
	if (p->all.made >= ADV_PAIRS_MAX || p->all.kept >= p->kept_most ||
	    has_its_share(p, p->use[slot]) || has_its_share(p, p->use[peer]))
		return ENFILE;
	pair->size = size_for(p, slot, peer);
	pair->memory_fd = adv_shm_pair_make(pair->size);
	if (pair->memory_fd < 0)
		return errno;
	pair->made = true;
	count(p, slot, peer, 1, 1);
	return 0;
}

static int fetch(struct adv_pairs *p, unsigned slot, unsigned peer, struct adv_pair_share *share)
{
	struct pair *pair = find(p, slot, peer);
	unsigned side = slot > peer;
	int fd = pair->memory_fd;

	if (pair->fetched[side])
		return EALREADY;
	if (!pair->fetched[!side]) {
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return errno;
	} else {
		pair->memory_fd = -1;
		count(p, slot, peer, 0, -1);
	}
	pair->fetched[side] = true;
	share->memory_fd = fd;
	share->size = pair->size;
	share->side = side;
	return 0;
}

int adv_pairs_ask(struct adv_pairs *p, unsigned slot, unsigned peer, struct adv_pair_share *share)
{
	unsigned side = slot > peer;
	struct pair **at = place(p, slot, peer), *pair = *at;

	share->made = false;
	if (!pair) {
		pair = *at = calloc(1, sizeof(*pair));
		if (!pair)
			return ENOMEM;
		pair->memory_fd = -1;
	}
	pair->asked[side] = true;
	if (!pair->asked[!side])
		return EAGAIN;
	if (!pair->made) {
		int error = make(p, pair, slot, peer);

		if (error)
			return error;
		share->made = true;
	}
	return fetch(p, slot, peer, share);
}

/* ---- looking ---- */

void adv_pairs_list(const struct adv_pairs *p, unsigned slot, uint8_t *paired, uint8_t *ready)
{
	memset(paired, 0, ADV_SLOTS / 8);
	memset(ready, 0, ADV_SLOTS / 8);
	for (unsigned peer = 0; peer < ADV_SLOTS; peer++) {
		const struct pair *pair = find(p, slot, peer);

		if (!pair || !pair->made)
			continue;
		set_bit(paired, peer);
		if (!pair->fetched[slot > peer])
			set_bit(ready, peer);
	}
}

unsigned adv_pairs_count(const struct adv_pairs *p)
{
	return p->all.made;
}

/* ---- ending ---- */

static void free_pair(struct adv_pairs *p, unsigned slot, unsigned peer)
{
	struct pair **at = place(p, slot, peer), *pair = *at;

	count(p, slot, peer, -(int)pair->made, -(pair->memory_fd >= 0));
	if (pair->memory_fd >= 0)
		close(pair->memory_fd);
	free(pair);
	*at = NULL;
}

void adv_pairs_release(struct adv_pairs *p, unsigned slot, uint8_t paired[ADV_SLOTS / 8])
{
	memset(paired, 0, ADV_SLOTS / 8);
	for (unsigned peer = 0; peer < ADV_SLOTS; peer++) {
		const struct pair *pair = find(p, slot, peer);

		if (!pair)
			continue;
		if (pair->made)
			set_bit(paired, peer);
		free_pair(p, slot, peer);
	}
	p->use[slot] = NULL;
}

void adv_pairs_destroy(struct adv_pairs *p)
{
	uint8_t paired[ADV_SLOTS / 8];

	for (unsigned slot = 0; p && slot < ADV_SLOTS; slot++)
		adv_pairs_release(p, slot, paired);
	free(p);
}
