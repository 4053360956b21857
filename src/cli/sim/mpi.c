/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/sim/mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define TAG    1
#define FAILED 1 /* exit status */

static int rank, count;
static MPI_Request *requests;

static void fail_rank(void *user, const char *why)
{
	fprintf(stderr, "adverb sim: rank %d: %s\n", rank, why);
	fflush(stderr);
	MPI_Abort(MPI_COMM_WORLD, FAILED);
	abort();
}

/* Receives the next mail of a rank. */
static void receive_mail(int from, struct adv_mail *mail)
{
	MPI_Message message;
	MPI_Status status;
	int bytes;

	MPI_Mprobe(from, TAG, MPI_COMM_WORLD, &message, &status);
	MPI_Get_count(&status, MPI_BYTE, &bytes);
	if (bytes < 0 || !adv_mail_reserve(mail, (size_t)bytes))
		fail_rank(NULL, "no memory");
	MPI_Mrecv(mail->data, bytes, MPI_BYTE, &message, &status);
	mail->len = (size_t)bytes;
}

static void exchange_mail(void *user, const struct adv_mail *out, struct adv_mail *in)
{
	int sent = 0;

	for (int r = 0; r < count; r++) {
		if (r == rank)
			continue;
		if (out[r].len > INT_MAX)
			fail_rank(NULL, "more than 2 GiB for another rank at once: use more ranks");
		MPI_Isend(out[r].data, (int)out[r].len, MPI_BYTE, r, TAG, MPI_COMM_WORLD,
			  &requests[sent++]);
	}
	for (int r = 0; r < count; r++)
		if (r != rank)
			receive_mail(r, &in[r]);
	MPI_Waitall(sent, requests, MPI_STATUSES_IGNORE);
}

static void open_mpi(struct adv_ranks *ranks)
{
	int provided;

	/* Only the thread that calls this one uses MPI. */
	MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &count);
	requests = calloc((size_t)count, sizeof(*requests));
	if (!requests)
		fail_rank(NULL, "no memory");
	*ranks = (struct adv_ranks){.rank = (uint32_t)rank,
				    .count = (uint32_t)count,
				    .exchange = exchange_mail,
				    .fail = fail_rank};
}

static void close_mpi(void)
{
	free(requests);
	MPI_Finalize();
}

__attribute__((visibility("default"))) const struct adv_sim_mpi adv_sim_mpi = {open_mpi, close_mpi};
