/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ranks: processes, on one machine or several, that run one simulation together. Each has the whole
 * network, and simulates some of its parts. Rank 0 has the results.
 *
 *	rank 0						each other rank
 *	adv_fabric_divide_ranks(f, threads, &ranks)	the same, of the same network
 *	adv_fabric_run(f, until)			adv_fabric_follow(f)
 *	adv_fabric_gather(f)
 *	results
 *	adv_fabric_destroy(f)				adv_fabric_follow() returns
 */
#ifndef ADV_FABRIC_PARTS_RANKS_H
#define ADV_FABRIC_PARTS_RANKS_H

#include "fabric/network/fabric.h"
#include "fabric/network/mail.h"

/* How ranks reach each other: MPI, or threads in tests. */
struct adv_ranks {
	uint32_t rank;
	uint32_t count;
	/* Sends out[r] to each other rank r, and receives what each sends to this one as in[r],
	 * which it lets grow. All ranks call it the same number of times. Does not return if it
	 * fails. */
	void (*exchange)(void *user, const struct adv_mail *out, struct adv_mail *in);
	/* Ends all ranks, after a message about this one. Does not return. */
	void (*fail)(void *user, const char *why);
	void *user;
};

/* Sends the mails of all ranks with of->exchange(), and empties out[]. Fails if a mail lacks
 * values. */
void adv_ranks_swap(const struct adv_ranks *of, struct adv_mail *out, struct adv_mail *in);

/*
 * As adv_fabric_divide(), among ranks with `threads` threads each. The caller keeps `ranks` as long
 * as the fabric exists. All ranks call it for the same network, with the same transfers. If it
 * returns 1, only rank 0 has anything to do.
 *
 * Nothing can be added after it. The function of adv_fabric_watch() is called by rank 0 only. A
 * lack of memory ends all ranks (adv_ranks.fail).
 */
int64_t adv_fabric_divide_ranks(struct adv_fabric *f, uint32_t threads,
				const struct adv_ranks *ranks);

/* Returns a hash of the byte order and of the sizes of what ranks send. Ranks can work together if
 * it is the same, and their version of Adverb. */
uint64_t adv_ranks_layout(void);

/* Of all ranks but 0: does what rank 0 does, until that destroys its fabric. */
void adv_fabric_follow(struct adv_fabric *f);

/*
 * Of rank 0, before it reads results: fetches those of the other ranks. Without ranks it does
 * nothing. Results are counters, egresses, the queues and limits of switches, transfers, and what
 * connections have received. Before ADV_FABRIC_SAMPLE the fabric does it itself; then the longest
 * queues since adv_switch_take_peak() are not taken.
 */
void adv_fabric_gather(struct adv_fabric *f);

#endif
