/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ranks of `adverb sim --mpi`. A module (cli/command/module.h): MPI connects them. */
#ifndef ADV_CLI_SIM_MPI_H
#define ADV_CLI_SIM_MPI_H

#include <stdbool.h>

#include "fabric/parts/ranks.h"

#define ADV_SIM_MPI_MODULE "adverb-mpi.so"
#define ADV_SIM_MPI_SYMBOL "adv_sim_mpi"

struct adv_sim_mpi {
	/* Initializes MPI and sets *ranks. An error of MPI ends all ranks, with a message. */
	void (*open)(struct adv_ranks *ranks);
	/* Ends MPI, when all ranks have called it. */
	void (*close)(void);
};

extern const struct adv_sim_mpi adv_sim_mpi;

#endif
