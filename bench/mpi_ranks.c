/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An MPI program that knows nothing of its transports, for bench/neighbour. Rank 0 prints the
 * time of MPI_Init(), the median and mean of half a round trip between ranks 0 and 1, and the
 * median and mean of an alltoall of 64 bytes for each rank.
 *
 * Usage: mpi_ranks ROUNDS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MESSAGE	     8
#define PART	     64
#define ROUNDS_MAX   1000000
#define ALLTOALL_ONE 10 /* one alltoall for so many round trips */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Prints NAME_median_us and NAME_mean_us of n times in seconds. */
static void print_times(const char *name, double *time, int n, double scale)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += time[i];
	qsort(time, (size_t)n, sizeof(*time), by_value);
	printf("%s_median_us=%.3f %s_mean_us=%.3f ", name, time[n / 2] * scale, name,
	       sum / n * scale);
}

static void exchange_messages(int rank, int rounds, double *time)
{
	char message[MESSAGE] = {0};

	for (int i = 0; i < rounds && rank < 2; i++) {
		double began = MPI_Wtime();

		if (rank == 0)
			MPI_Send(message, MESSAGE, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(message, MESSAGE, MPI_CHAR, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(message, MESSAGE, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
		time[i] = MPI_Wtime() - began;
	}
}

static void exchange_with_all(int ranks, int rounds, double *time)
{
	char *from = calloc((size_t)ranks, PART), *to = calloc((size_t)ranks, PART);

	for (int i = 0; i < rounds && from && to; i++) {
		double began = MPI_Wtime();

		MPI_Alltoall(from, PART, MPI_CHAR, to, PART, MPI_CHAR, MPI_COMM_WORLD);
		time[i] = MPI_Wtime() - began;
	}
	free(from);
	free(to);
}

int main(int argc, char **argv)
{
	int rank, ranks, rounds = argc > 1 ? atoi(argv[1]) : 0;
	double *time, began = 0;

	if (rounds < ALLTOALL_ONE || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: mpi_ranks ROUNDS, %d to %d\n", ALLTOALL_ONE, ROUNDS_MAX);
		return 2;
	}
	time = calloc((size_t)rounds, sizeof(*time));
	began = MPI_Wtime(); /* allowed before MPI_Init() in Open MPI */
	if (!time || MPI_Init(&argc, &argv) != MPI_SUCCESS)
		return 1;
	began = MPI_Wtime() - began;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (rank == 0)
		printf("ranks=%d init_s=%.3f ", ranks, began);
	exchange_messages(rank, rounds, time);
	if (rank == 0)
		print_times("latency", time, rounds, 0.5e6);
	MPI_Barrier(MPI_COMM_WORLD);
	exchange_with_all(ranks, rounds / ALLTOALL_ONE, time);
	if (rank == 0) {
		print_times("alltoall", time, rounds / ALLTOALL_ONE, 1e6);
		printf("\n");
	}
	MPI_Finalize();
	free(time);
	return 0;
}
