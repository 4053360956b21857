/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ranks of `adverb sim --mpi`: their start, and the files that rank 0 reads for all. */
#ifndef ADV_CLI_SIM_RANKS_H
#define ADV_CLI_SIM_RANKS_H

#include <stdbool.h>

#include "fabric/parts/ranks.h"

/* A process of `adverb sim`. All zero: the only one. */
struct adv_sim_ranks {
	const struct adv_sim_mpi *mpi;
	struct adv_ranks of;
	struct adv_mail *out; /* by rank */
	struct adv_mail *in;
};

/* Loads MPI and connects the ranks. Ends them all if one has other arguments than rank 0, or is
 * another version of Adverb. False: the module cannot be loaded; an error was printed. */
bool adv_sim_ranks_open(struct adv_sim_ranks *r, int argc, char *const *argv);
/* Ends MPI. All ranks call it. */
void adv_sim_ranks_close(struct adv_sim_ranks *r);

/* True if this process is the only one, or rank 0. */
bool adv_sim_ranks_lead(const struct adv_sim_ranks *r);

/* As adv_cli_read_file(), but rank 0 reads the file for all. */
char *adv_sim_ranks_read_file(struct adv_sim_ranks *r, const char *name, size_t most, size_t *len);

/* Returns true if `good` is true at all ranks. Otherwise prints `why`, the error of rank 0: ranks
 * that read the same have the same error. An error that rank 0 does not have ends all ranks. */
bool adv_sim_ranks_agree(struct adv_sim_ranks *r, bool good, const char *why);

#endif
