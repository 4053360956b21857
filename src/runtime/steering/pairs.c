/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/steering/pairs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "runtime/link/shm.h"

#define FEW	16 /* number of a slot's pairs that get large rings */
#define SEVERAL 64 /* number of a slot's pairs that get large or medium rings */

#define BUCKETS 4096
/* Most pairs that at least one of the two slots has requested; further ones are refused. */
#define WANTED 65536

/* A pair of two slots. Side 0 is the slot with the smaller number. */
struct pair {
	struct pair *next;     /* next pair of the hash bucket */
	struct adv_list of[2]; /* nodes in the lists of the two slots, by side */
	unsigned slot[2];
	bool asked[2];
	bool fetched[2];
	bool made;
	int memory_fd; /* descriptor of the memory until both slots have fetched it; then -1 */
	uint32_t size;
};

struct adv_pairs {
	unsigned kept_most;
	bool shared;
	struct adv_pair_use all;
	/* Counts of the slot's user; NULL: the slot has no user. */
	struct adv_pair_use *use[ADV_SLOTS];
	unsigned of_slot[ADV_SLOTS]; /* number of the slot's pairs whose memory is made */
	/* Lists of the slot's pairs, by the slot's side in the pair; all 0: never used. */
	struct adv_list slot[ADV_SLOTS][2];
	struct pair *bucket[BUCKETS];
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

/* Returns the hash bucket of a pair. */
static struct pair **pair_place(const struct adv_pairs *p, unsigned slot, unsigned peer)
{
	struct adv_pairs *all = (struct adv_pairs *)(uintptr_t)p;
	unsigned a = slot < peer ? slot : peer, b = slot < peer ? peer : slot;
	struct pair **at = &all->bucket[(a * 64 + b) % BUCKETS];

	while (*at && ((*at)->slot[0] != a || (*at)->slot[1] != b))
		at = &(*at)->next;
	return at;
}

static struct pair *find_pair(const struct adv_pairs *p, unsigned slot, unsigned peer)
{
	return *pair_place(p, slot, peer);
}

/* Returns the list of the slot's pairs in which the slot has this side. */
static struct adv_list *list_of(const struct adv_pairs *p, unsigned slot, unsigned side)
{
	struct adv_list *list = (struct adv_list *)(uintptr_t)&p->slot[slot][side];

	if (!list->next)
		adv_list_init(list);
	return list;
}

static struct pair *pair_at(struct adv_list *n, unsigned side)
{
	return side ? adv_container_of(n, struct pair, of[1])
		    : adv_container_of(n, struct pair, of[0]);
}

static void set_bit(uint8_t *bits, unsigned i)
{
	bits[i / 8] |= (uint8_t)(1u << i % 8);
}

/* ---- counting ---- */

static void charge_use(struct adv_pair_use *use, int wanted, int made, int kept)
{
	use->wanted += (unsigned)wanted;
	use->made += (unsigned)made;
	use->kept += (unsigned)kept;
}

static void count_pair(struct adv_pairs *p, const struct pair *pair, int wanted, int made, int kept)
{
	struct adv_pair_use *a = p->use[pair->slot[0]], *b = p->use[pair->slot[1]];

	charge_use(&p->all, wanted, made, kept);
	if (a)
		charge_use(a, wanted, made, kept);
	if (b && b != a)
		charge_use(b, wanted, made, kept);
	p->of_slot[pair->slot[0]] += (unsigned)made;
	p->of_slot[pair->slot[1]] += (unsigned)made;
}

static bool has_its_share(const struct adv_pairs *p, const struct adv_pair_use *use)
{
	return p->shared && use &&
	       (use->made >= ADV_PAIRS_MAX / 2 || use->kept >= p->kept_most / 2);
}

/* ---- making ---- */

/* Adds a pair that one side requests. 0; ENFILE: too many pairs; ENOMEM. */
static int request_pair(struct adv_pairs *p, unsigned slot, unsigned peer, struct pair **wanted)
{
	struct adv_pair_use *use = p->use[slot];
	struct pair *pair;

	if (p->all.wanted >= WANTED || (p->shared && use && use->wanted >= WANTED / 2))
		return ENFILE;
	pair = calloc(1, sizeof(*pair));
	if (!pair)
		return ENOMEM;
	pair->slot[0] = slot < peer ? slot : peer;
	pair->slot[1] = slot < peer ? peer : slot;
	pair->memory_fd = -1;
	for (unsigned side = 0; side < 2; side++)
		adv_list_add_tail(list_of(p, pair->slot[side], side), &pair->of[side]);
	*pair_place(p, slot, peer) = pair;
	count_pair(p, pair, 1, 0, 0);
	*wanted = pair;
	return 0;
}

static void free_pair(struct adv_pairs *p, struct pair *pair)
{
	*pair_place(p, pair->slot[0], pair->slot[1]) = pair->next;
	for (unsigned side = 0; side < 2; side++)
		adv_list_del(&pair->of[side]);
	count_pair(p, pair, -1, -(int)pair->made, -(pair->memory_fd >= 0));
	if (pair->memory_fd >= 0)
		close(pair->memory_fd);
	free(pair);
}

static uint32_t size_for(const struct adv_pairs *p, unsigned slot, unsigned peer)
{
	unsigned most = p->of_slot[slot] > p->of_slot[peer] ? p->of_slot[slot] : p->of_slot[peer];

	if (most < FEW)
		return ADV_PAIR_LARGE;
	return most < SEVERAL ? ADV_PAIR_MEDIUM : ADV_PAIR_SMALL;
}

static int make_memory(struct adv_pairs *p, struct pair *pair, unsigned slot, unsigned peer)
{
	if (p->all.made >= ADV_PAIRS_MAX || p->all.kept >= p->kept_most ||
	    has_its_share(p, p->use[slot]) || has_its_share(p, p->use[peer]))
		return ENFILE;
	pair->size = size_for(p, slot, peer);
	pair->memory_fd = adv_shm_pair_make(pair->size);
	if (pair->memory_fd < 0)
		return errno;
	pair->made = true;
	count_pair(p, pair, 0, 1, 1);
	return 0;
}

static int fetch_part(struct adv_pairs *p, struct pair *pair, unsigned side,
		      struct adv_pair_share *share)
{
	int fd = pair->memory_fd;

	if (pair->fetched[side])
		return EALREADY;
	if (!pair->fetched[!side]) {
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return errno;
	} else {
		pair->memory_fd = -1;
		count_pair(p, pair, 0, 0, -1);
	}
	pair->fetched[side] = true;
	share->memory_fd = fd;
	share->size = pair->size;
	share->side = side;
	return 0;
}

int adv_pairs_request(struct adv_pairs *p, unsigned slot, unsigned peer,
		      struct adv_pair_share *share)
{
	unsigned side = slot > peer;
	struct pair *pair = find_pair(p, slot, peer);
	int error = 0;

	share->made = false;
	if (!pair) {
		error = request_pair(p, slot, peer, &pair);
		if (error)
			return error;
	}
	pair->asked[side] = true;
	if (!pair->asked[!side])
		return EAGAIN;
	if (!pair->made) {
		error = make_memory(p, pair, slot, peer);
		if (error) { /* both slots have to request the memory again */
			free_pair(p, pair);
			return error;
		}
		share->made = true;
	}
	return fetch_part(p, pair, side, share);
}

/* ---- listing ---- */

void adv_pairs_list(const struct adv_pairs *p, unsigned slot, uint8_t *paired, uint8_t *ready)
{
	memset(paired, 0, ADV_SLOTS / 8);
	memset(ready, 0, ADV_SLOTS / 8);
	for (unsigned side = 0; side < 2; side++) {
		struct adv_list *list = list_of(p, slot, side);

		for (struct adv_list *n = list->next; n != list; n = n->next) {
			const struct pair *pair = pair_at(n, side);

			if (!pair->made)
				continue;
			set_bit(paired, pair->slot[!side]);
			if (!pair->fetched[side])
				set_bit(ready, pair->slot[!side]);
		}
	}
}

unsigned adv_pairs_count(const struct adv_pairs *p)
{
	return p->all.made;
}

/* ---- ending ---- */

void adv_pairs_release(struct adv_pairs *p, unsigned slot, uint8_t paired[ADV_SLOTS / 8])
{
	memset(paired, 0, ADV_SLOTS / 8);
	for (unsigned side = 0; side < 2; side++) {
		struct adv_list *list = list_of(p, slot, side);

		while (!adv_list_empty(list)) {
			struct pair *pair = pair_at(list->next, side);

			if (pair->made)
				set_bit(paired, pair->slot[!side]);
			free_pair(p, pair);
		}
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
