/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the floors share. A floor moves the same bytes as Adverb would, between two processes on
 * two cores, with nothing else: what is left above it is Adverb's own cost. Any failure ends the
 * program with a line on standard error.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One RoCE v2 packet at path MTU 4096: BTH 12, payload 4096, ICRC 4. */
#define FLOOR_HEADER  12
#define FLOOR_PAYLOAD 4096
#define FLOOR_PACKET  (FLOOR_HEADER + FLOOR_PAYLOAD + 4)

_Noreturn void floor_die(const char *what);

uint64_t floor_now(void); /* ns, CLOCK_MONOTONIC */

/* Pins the caller to the n-th CPU it may run on (modulo their number). */
void floor_pin(int n);

/* Forks; the child runs fn(arg) on the second CPU, then exits. The caller is on the first. */
pid_t floor_child(void (*fn)(void *arg), void *arg);

/* Waits for the child; an exit status other than 0 is a failure. */
void floor_join(pid_t child);

/* A UDP socket bound to 127.0.0.1, some port, with a receive buffer of 4 MiB; its port. */
int floor_udp(uint16_t *port);
void floor_udp_connect(int fd, uint16_t port);

/* Memory that both processes see. */
void *floor_shared(size_t length);

/* The value at fraction q of n numbers, which it sorts. */
uint64_t floor_quantile(uint64_t *values, size_t n, double q);

#endif
