/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the floors. A floor moves the same bytes as Adverb between two processes on two cores,
 * and does nothing else. The difference is Adverb's cost. A failure ends the program with a line on
 * standard error.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One RoCE v2 packet at path MTU 4096: BTH 12, payload 4096, ICRC 4. */
#define FLOOR_HEADER  12
#define FLOOR_PAYLOAD 4096

_Noreturn void floor_die(const char *what);

uint64_t floor_now(void); /* ns, CLOCK_MONOTONIC */

/* Pins the caller to the n-th CPU it may run on (modulo their number), unless FLOOR_NO_PIN is set.
 */
void floor_pin(int n);

/* Forks; the child runs fn(arg) on the second CPU, then exits. The caller is on the first. */
pid_t floor_child(void (*fn)(void *arg), void *arg);

/* Waits for the child. Its exit status must be 0. */
void floor_join(pid_t child);

/* Creates a UDP socket bound to a free port of 127.0.0.1, with a receive buffer of 4 MiB. */
int floor_udp(uint16_t *port);
void floor_udp_connect(int fd, uint16_t port);

/* Allocates memory that both processes share. */
void *floor_shared(size_t length);

/* Sorts n numbers and returns the one at fraction q. */
uint64_t floor_quantile(uint64_t *values, size_t n, double q);

#endif
